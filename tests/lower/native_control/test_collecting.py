"""Loops that collect rows: one kernel runs many iterations, whatever their number and the size of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.lower.native_control.collecting import LONGEST, MEMORY
from baton._src.lower.native_control.native_control_flow import native_control_flow
from baton._src.passes.pipelines import default
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.transform.passes import Sequential
from baton._src.values.tensor import array
from tests.relax.build import load

LOOP = """
from baton.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    @R.function
    def main(
        i: R.Tensor((), "int32"), x: R.Tensor(({size},), "float32"), rows: R.Tensor(("count", {size}), "float32"),
        squares: R.Tensor(("others", 2), "int32"),
    ) -> R.Tuple(R.Tensor(dtype="int32", ndim=2), R.Tensor(dtype="float32", ndim=2), R.Tensor(dtype="float32", ndim=1)):
        if R.less(i, R.const(1, "int32")):
            r = ({returned})
        else:
            y = R.add(x, R.const(1.0, "float32"))
            longer = R.concat((rows, R.expand_dims(y, [0])), axis=0)
            pair = R.broadcast_to(R.multiply(i, i), R.shape([1, 2]))
            {more}
            r = M.main(R.subtract(i, R.const(1, "int32")), y, longer, R.concat((squares, pair), axis=0))
        return r
"""


def program(size: str = "3", returned: str = "squares, rows, x", more: str = "pass") -> Any:
    return load(LOOP.format(size=size, returned=returned, more=more))


def compared(module: Any, rounds: int, width: int = 3) -> None:
    """Check what the program computes against the interpreter."""
    given = [
        np.int32(rounds),
        np.arange(width, dtype="float32"),
        np.ones((2, width), "float32"),
        np.ones((1, 2), "int32"),
    ]
    found = VirtualMachine(relax_build(module))["main"](*map(array, given))
    wanted = Interpreter(module, {})["main"](*map(array, given))
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine.numpy(), other.numpy(), strict=True)
        assert mine.data.flags.c_contiguous


def kernels(module: Any) -> set[str]:
    """The kernels that are made of functions."""
    lowered = native_control_flow(Sequential(default())(module), Analyzer())
    return {v.name_hint for v in lowered.functions if v.name_hint.endswith("_steps")}


@pytest.mark.parametrize("rounds", [0, 1, LONGEST - 1, LONGEST, LONGEST + 1, 700])
@pytest.mark.parametrize("size", ["3", "'n'"])
def test_lengths_around_those_of_a_call(rounds: int, size: str) -> None:
    """Guards what a call of the kernel hands to the next one, and rows of sizes that only a run tells."""
    module = program(size)
    assert kernels(module) == {"main_steps"}
    compared(module, rounds)


def test_what_is_returned_is_checked_once() -> None:
    """Guards the time around short loops: rows were checked as appended, and again as what the loop returns."""
    text = relax_build(program()).as_text()
    assert text.count("Call  vm.builtin.complete") == text.count("Call  vm.builtin.match_cast") == 2


@pytest.mark.parametrize("width", [MEMORY // 16, MEMORY])
@pytest.mark.parametrize("known", [True, False])
def test_rows_that_fill_the_memory(width: int, known: bool) -> None:
    """Guards calls of four iterations, and of one."""
    compared(program(str(width) if known else "'n'"), 6, width)


@pytest.mark.parametrize("width", [0, 1])
def test_rows_without_elements(width: int) -> None:
    compared(program("'n'"), 5, width)


@pytest.mark.parametrize("changed", [
    {"returned": "squares, rows, R.add(x, x)"},
    {"more": "y = R.add(y, R.sum(rows))"},
    {"more": "y = R.add(y, R.astype(R.shape_to_tensor(R.shape([count])), 'float32'))"},
], ids=["computed result", "read", "size"])  # fmt: skip
def test_more_than_rows(changed: dict[str, str]) -> None:
    """Results that are computed at the end, and rows or their number that an iteration reads: the kernel keeps all
    rows."""
    module = program(**changed)
    assert kernels(module) == {"main_steps"}
    compared(module, 5)


COUNTED = """
from baton.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    @R.function(private=True)
    def loop(
        i: R.Tensor((), "int64"), x: R.Tensor(("m",), "float32"), rows: R.Tensor(("count", "m"), "float32"),
        last: R.Tensor((), "int64"),
    ) -> R.Tuple(R.Tensor(("m",), "float32"), R.Tensor(dtype="float32", ndim=2)):
        if R.less(i, last):
            y = R.add(x, R.const(1.0, "float32"))
            longer = R.concat((rows, R.expand_dims(y, [0])), axis=0)
            r = M.loop(R.add(i, R.const(1, "int64")), y, longer, last)
        else:
            r = (x, rows)
        return r

    @R.function
    def main(
        last: R.Tensor((), "int64"), x: R.Tensor(("m",), "float32"), like: R.Tensor(("n",), "float32")
    ) -> R.Tensor(("n",), "float32"):
        m = T.int64()
        n = T.int64()
        r = M.loop(R.const(0, "int64"), x, R.zeros(R.shape([0, m]), "float32"), last)
        rows = R.match_cast(r[1], R.Tensor((n, m), "float32"))
        return R.add(R.add(R.sum(rows, axis=[1]), R.sum(r[0])), like)
"""


@pytest.mark.parametrize("rounds", [0, 1, 2, LONGEST + 44])
def test_lengths_that_a_cast_tells(rounds: int) -> None:
    """Guards loops whose number of rows is known before: memory for all of them, and no machine around the calls. They
    were ten times slower."""
    program = load(COUNTED)
    executable = relax_build(program)
    assert executable.entry("main").kind == "native"
    assert [f.name for f in executable.functions] == ["main"]
    given = [array(np.int64(rounds)), array(np.arange(3, dtype="float32")), array(np.ones(rounds, "float32"))]
    found, wanted = VirtualMachine(executable)["main"](*given), Interpreter(program, {})["main"](*given)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy(), strict=True)


@pytest.mark.parametrize("rounds", [0, 2, 4, 100])
def test_lengths_that_are_not_what_a_cast_tells(rounds: int) -> None:
    """Guards the memory behind the rows, and the rows that no iteration would have written."""
    main = VirtualMachine(relax_build(load(COUNTED)))["main"]
    given = [array(np.int64(rounds)), array(np.arange(3, dtype="float32")), array(np.ones(3, "float32"))]
    with pytest.raises(DiagnosticError, match=r"match_cast to rows: dimension 0 is \d+ = .*, expected"):
        main(*given)
    given[0] = array(np.int64(3))
    assert main(*given).shape == (3,)
