"""Signatures of functions: what is checked quickly is checked as it is slowly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.runtime.executable.constants import Data
from baton._src.runtime.value_info import ObjectValue, TensorValue, TupleValue
from baton._src.runtime.vm.builtins import checks
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import NDArray

N, M = ("v", 0), ("v", 1)
INFOS = TupleValue((
    TensorValue("bool", 0, ()), TensorValue("float32", 2, (N, 4)), TensorValue("float32", 3, None),
    TensorValue("int64", 2, (M, N)), ObjectValue(),
))  # fmt: skip


def arguments(**changed: Any) -> list[Any]:
    """What fits `INFOS`, with some of it changed."""
    found = {
        "go": np.array(True), "x": np.zeros((2, 4), "float32"), "rows": np.zeros((7, 2, 4), "float32"),
        "places": np.zeros((3, 2), "int64"),
    }  # fmt: skip
    return [*(NDArray(changed.get(name, array)) for name, array in found.items()), "anything"]


def check(heap: list[Any], given: list[Any]) -> None:
    facts = Data(["f", ["go", "x", "rows", "places", "other"], ["n", "m"]])
    for _ in range(2):
        checks.check_signature(list(heap), INFOS, facts, *given)
    checks.check_signature(heap, INFOS, facts, *given)


def test_sizes_are_named_without_the_full_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards loops in the machine, which check 14 tensors in each iteration: with named sizes that took 130 us."""
    monkeypatch.setattr(checks, "check_values", None)
    heap = [None, None]
    check(heap, arguments())
    assert heap == [2, 3]
    captured = [2, None]
    check(captured, arguments())
    assert captured == [2, 3]


@pytest.mark.parametrize(("changed", "told"), [
    ({"go": np.zeros(1, "bool")}, "argument go: expected a tensor of rank 0"),
    ({"x": np.zeros((2, 5), "float32")}, "argument x: dimension 1 is 5, expected 4"),
    ({"x": np.zeros((2, 4), "float64")}, "argument x: expected a tensor of dtype float32"),
    ({"rows": np.zeros((2, 4), "float32")}, "argument rows: expected a tensor of rank 3"),
    ({"places": np.zeros((3, 1), "int64")}, r"argument places: dimension 1 is 1, expected 2 \(n\)"),
])  # fmt: skip
def test_what_does_not_fit(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(DiagnosticError, match=told):
        check([None, None], arguments(**changed))


def test_a_size_that_a_closure_captured() -> None:
    with pytest.raises(DiagnosticError, match="argument x: dimension 0 is 2, expected 5"):
        check([5, None], arguments())
