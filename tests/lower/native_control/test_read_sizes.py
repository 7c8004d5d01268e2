"""Sizes that iterations read from tensors: loops over slices of data-dependent sizes are native."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.ir.traverse import substitute
from baton._src.lower.native_control.read_sizes import largest
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import operators as t
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm, Var
from baton._src.values.dtype import INT64
from baton._src.values.tensor import array
from tests.relax.build import load

SLICES = """
from baton.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    @R.function
    def main(
        i: R.Tensor((), "int64"), x: R.Tensor(("n",), "float32"), starts: R.Tensor(("k", 2), "int64"),
        total: R.Tensor((), "float32"),
    ) -> R.Tensor((), "float32"):
        if R.less(i, R.const(1, "int64")):
            r = total
        else:
            less = R.subtract(i, R.const(1, "int64"))
            begin = T.int64()
            end = T.int64()
            n = T.int64()
            sizes = R.match_cast(R.tensor_to_shape(R.take(starts, less, axis=0)), R.Shape([begin, end]))
            part = R.{part}
            r = M.main(less, x, starts, R.add(total, R.sum(R.multiply(part, part))))
        return r
"""
SLICE = "strided_slice(x, [0], [begin], [end])"


def compared(part: str, starts: Any, length: int = 9) -> Any:
    """Check what the program computes against the interpreter; returns the executable."""
    program = load(SLICES.format(part=part))
    rows = np.array(starts, "int64").reshape(-1, 2)
    given = [np.int64(len(rows)), np.linspace(0, 1, length).astype("float32"), rows, np.float32(0)]
    executable = relax_build(program)
    found = VirtualMachine(executable)["main"](*map(array, given))
    wanted = Interpreter(program, {})["main"](*map(array, given))
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)
    return executable


@pytest.mark.parametrize("part", [SLICE, "exp(R.strided_slice(R.add(x, x), [0], [begin], [end]))"])
def test_slices_whose_ends_are_data(part: str) -> None:
    """Guards parts that are longer or shorter than those before, that are empty, and that end outside."""
    executable = compared(part, [(0, 4), (2, 9), (3, 3), (5, 2), (7, 80)])
    assert executable.entry("main").kind == "native"


def test_a_choice_of_parts() -> None:
    """Guards the place of what is chosen, whose size is data, too: such programs could not be compiled."""
    program = load(
        SLICES.replace(
            "            part = R.{part}\n",
            "            p = R.strided_slice(x, [0], [begin], [end])\n"
            "            if R.less(i, R.const(3, 'int64')):\n"
            "                part = R.multiply(p, p)\n"
            "            else:\n"
            "                part = R.add(p, p)\n",
        )
    )
    rows = np.array([(0, 4), (2, 9), (3, 3), (7, 80)], "int64")
    given = [array(v) for v in (np.int64(4), np.linspace(0, 1, 9).astype("float32"), rows, np.float32(0))]
    executable = relax_build(program)
    found, wanted = VirtualMachine(executable)["main"](*given), Interpreter(program, {})["main"](*given)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)
    assert executable.entry("main").kind == "native"


def test_sizes_without_a_bound_are_left_to_the_machine() -> None:
    executable = compared("cumsum(R.broadcast_to(R.sum(x), R.shape([begin * end])), axis=0)", [(2, 3), (5, 40)])
    assert executable.entry("main").kind == "vm"


def test_a_negative_size_is_an_error() -> None:
    """Guards memory: the room for a part holds for sizes that are not negative."""
    main = VirtualMachine(
        relax_build(load(SLICES.format(part="full(R.shape([T.min(n, begin)]), R.const(1.0), 'float32')")))
    )
    given = [np.int64(1), np.ones(3, "float32"), np.array([[-4, 0]]), np.float32(0)]
    with pytest.raises(DiagnosticError, match=r"-4"):
        main["main"](*map(array, given))


def test_the_most_that_sizes_can_be() -> None:
    """Guards the bounds against all values of small sizes."""
    n, k, i = (Var(name, INT64) for name in "nki")
    sizes = {
        t.max(0, t.min(n, k) - t.min(n, i)): n,
        t.floordiv(t.min(k, n) + 3, 2): t.floordiv(n + 3, 2),
        t.min(k, i): None,
        t.min(n * 2, k) * 3 - i: n * 2 * 3,
    }
    for size, most in sizes.items():
        found = largest(size, {n})
        assert (found is None) == (most is None)
        for values in np.ndindex(4, 5, 5) if found is not None else ():
            bound = dict(zip((n, k, i), (IntImm(INT64, int(v)) for v in values), strict=True))
            assert _value(size, bound) <= _value(found, bound)


def _value(expr: Any, values: dict[Var, IntImm]) -> int:
    return int(Analyzer().simplify(substitute(expr, values)).value)
