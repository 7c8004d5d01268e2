"""AppendInPlace: which recursive functions append to memory with room, and that they compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.passes.relax.operators.append_in_place import AppendInPlace
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import array
from tests.relax.build import load

HEAD = """
from baton.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    @R.function
    def main(
        i: R.Tensor((), "int32"), x: R.Tensor((1, 3), "float32"), rows: R.Tensor(("n", 3), "float32")
    ) -> R.Tensor(dtype="float32", ndim=2):
        if R.less(i, R.const(1, "int32")):
"""
ROUND = "M.main(R.subtract(i, R.const(1, 'int32')), R.multiply(x, R.const(2.0, 'float32')), {})"
PROGRAMS = {
    "rows": ("r = R.add(rows, R.const(1.0, 'float32'))", ["longer = R.concat((rows, x), axis=0)"], "longer"),
    "returned as they are": ("r = rows", ["longer = R.concat((rows, x), axis=0)"], "longer"),
    "read in each round": (
        "r = rows",
        ["total = R.sum(rows, [0], True)", "longer = R.concat((rows, R.add(x, total)), axis=0)"],
        "longer",
    ),
    "a pair": ("r = rows", ["pair = (rows, x)", "longer = R.concat(pair, axis=0)"], "longer"),
    "two at a time": (
        "r = rows", ["both = R.concat((x, x), axis=0)", "longer = R.concat((rows, both), axis=0)"], "longer",
    ),
}  # fmt: skip


def program(done: str, body: list[str], given: str) -> Any:
    lines = [f"            {done}", "        else:", *(f"            {line}" for line in body)]
    return load(HEAD + "\n".join([*lines, f"            r = {ROUND.format(given)}", "        return r", ""]))


def calls(module: Any, name: str) -> int:
    return str(module.script()).count(f'"vm.builtin.{name}"')


def outcome(module: Any, rounds: int, rows: Any) -> tuple[Any, Any]:
    given = [np.int32(rounds), np.array([[1, 2, 3]], "float32"), rows]
    found = VirtualMachine(relax_build(module))["main"](*map(array, given))
    return found.numpy(), Interpreter(module, {})["main"](*map(array, given)).numpy()


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_is_computed(name: str) -> None:
    module = program(*PROGRAMS[name])
    after = AppendInPlace()(module)
    assert calls(after, "appended") == 1
    assert not well_formed(after)
    for rounds, count in ((0, 2), (1, 0), (5, 1), (40, 2)):
        given = np.ones((count, 3), "float32")
        found, wanted = outcome(module, rounds, given)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, strict=True)
        np.testing.assert_array_equal(given, np.ones((count, 3), "float32"))


@pytest.mark.parametrize(("body", "given"), [
    (["longer = R.concat((rows, x), axis=0)", "y = R.sum(longer, [0], True)", "same = R.concat((longer, y), axis=0)"],
     "same"),
    (["longer = R.concat((x, rows), axis=0)"], "longer"),
    (["longer = R.concat((rows, x, x), axis=0)"], "longer"),
    (["side = R.concat((x, x), axis=0)", "longer = R.add(side, side)"], "longer"),
], ids=["read", "in front", "three", "another"])  # fmt: skip
def test_what_is_left_alone(body: list[str], given: str) -> None:
    """The longer tensor is read by others, or is not the parameter and one more part."""
    module = program("r = rows", body, given)
    assert AppendInPlace()(module) is module
