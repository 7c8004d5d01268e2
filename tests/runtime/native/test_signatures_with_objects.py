"""The check of a signature where some parameters may be anything: the others are checked as ever."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.runtime.executable.constants import Data
from baton._src.runtime.value_info import ObjectValue, TensorValue, TupleValue
from baton._src.runtime.vm.builtins.checks import check_signature
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import array

INFOS = TupleValue((ObjectValue(), TensorValue("int32", 0, ())))


def facts() -> Data:
    return Data(["f", ["list", "n"], []])


def test_objects_are_let_through() -> None:
    noted = facts()
    for anything in (3, "word", array(np.zeros(2)), ()):
        assert check_signature([], INFOS, noted, anything, array(np.int32(1))) == ()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0, array(np.float32(1))), "f: argument n: expected a tensor of dtype int32"),
        ((0, array(np.zeros(2, "int32"))), "f: argument n"),
        ((0, "word"), "f: argument n: expected a tensor"),
        ((0,), "f takes 2 arguments: list, n; 1 given"),
        ((0, array(np.int32(1)), 2), "3 given"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: tuple[object, ...], says: str) -> None:
    noted = facts()
    check_signature([], INFOS, noted, 0, array(np.int32(1)))  # what is remembered of the infos changes nothing
    with pytest.raises(DiagnosticError) as raised:
        check_signature([], INFOS, noted, *arguments)
    assert says in str(raised.value)
