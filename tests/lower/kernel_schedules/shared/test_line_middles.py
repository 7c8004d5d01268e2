"""Windows in the middle of a line ask for no border: lines that a run tells, and long ones."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules import rows
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import Call, Var
from baton._src.tir.intrinsics import INTRINSICS
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array

IF_THEN_ELSE = INTRINSICS["tir.if_then_else"]
LENGTHS = [0, 1, 2, 3, 5, 16, 17, 31, 40, 100]


def pooled(length: int | Var, taps: int, stride: int, before: int, after: int) -> PrimFunc:
    """The sum of each window of a line with so many zeros before and behind it."""
    x, r = placeholder((2, length), "float32", "x"), reduce_axis((0, taps), "r")
    results = ops.floordiv(length + before + after - taps, stride) + 1

    def seen(c, i):  # type: ignore[no-untyped-def]
        at = i * stride + r
        inside = ops.logical_and(at >= before, at < length + before)
        return if_then_else(inside, x[c, at - before], ops.const(0.0, "float32"))

    return create_prim_func([x, compute((2, results), lambda c, i: reduction.sum(seen(c, i), r), "y")])


@pytest.mark.parametrize(
    ("taps", "stride", "before", "after"),
    [(3, 1, 1, 1), (3, 2, 1, 1), (3, 2, 0, 1), (5, 3, 2, 4), (2, 2, 0, 0), (7, 1, 6, 6), (4, 1, 0, 3)],
)
def test_sums_of_windows(taps: int, stride: int, before: int, after: int) -> None:
    """Guards every length of the line: none, all of it border, a middle of less or more than a vector."""
    func = pooled(Var("n", "int64"), taps, stride, before, after)
    made = rows.apply(func, HOST)
    assert isinstance(made, PrimFunc)
    library = build(made, checked=True)
    for length in LENGTHS:
        x = random_array((2, length), "float32")
        wide = np.pad(x, ((0, 0), (before, after)))
        count = (wide.shape[1] - taps) // stride + 1
        if count < 0:
            continue
        found = np.full((2, count), np.nan, "float32")
        assert call(library, made, x, found) is None
        expected = [wide[:, i * stride : i * stride + taps].sum(1) for i in range(count)]
        np.testing.assert_allclose(found, np.reshape(expected, (count, 2)).T, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("length", "parted"), [(Var("n", "int64"), True), (1000, True), (56, False)])
def test_the_middle_has_no_condition(length: int | Var, parted: bool) -> None:
    """Guards the mechanism (pools of 3 by 3 with a stride of 2 over open maps 445 to 182 us), and that short lines,
    whose vectors know their places, stay one loop.
    """
    made = rows.apply(pooled(length, 3, 2, 1, 1), HOST)
    assert isinstance(made, PrimFunc)
    loops = [s for s in post_order(made.body) if isinstance(s, st.For) and s.kind is st.ForKind.VECTORIZED]
    assert any(not _asks(loop) for loop in loops) == parted


def _asks(loop: st.For) -> bool:
    """Whether an element of the loop is read under a condition."""
    return any(isinstance(n, Call) and n.op == IF_THEN_ELSE for n in post_order(loop.body))


def columns(length: int | Var, border: float, slanted: bool) -> PrimFunc:
    """The maximum of three lines at each place, of which the last one is moved by a place if `slanted`; `border` at
    three places before and behind them.
    """
    x, u = placeholder((3, length), "float32", "x"), reduce_axis((0, 3), "u")

    def seen(j):  # type: ignore[no-untyped-def]
        at = j - 3 - (ops.floordiv(u, 2) if slanted else 0)
        inside = ops.logical_and(at >= 0, at < length)
        return if_then_else(inside, x[u, at], ops.const(border, "float32"))

    return create_prim_func([x, compute((length + 6,), lambda j: reduction.max(seen(j), u), "y")])


@pytest.mark.parametrize("border", [float("-inf"), -1.0])
@pytest.mark.parametrize("slanted", [False, True])
def test_borders_that_no_tap_meets(border: float, slanted: bool) -> None:
    """Guards that places where each tap adds nothing are filled, not reduced (13x13 pools over open 20x20: 142 to 83
    us), and those where some tap adds something are not.
    """
    made = rows.apply(columns(Var("n", "int64"), border, slanted), HOST)
    assert isinstance(made, PrimFunc)
    lines = [s for s in post_order(made.body) if isinstance(s, st.For) and s.kind is not st.ForKind.UNROLLED]
    filled = [s for s in lines if isinstance(s.body, st.BufferStore)]
    assert len(filled) == (2 if border == float("-inf") and not slanted else 0)
    library = build(made, checked=True)
    for length in LENGTHS:
        x = random_array((3, length), "float32")
        found = np.full(length + 6, np.nan, "float32")
        assert call(library, made, x, found) is None
        wide = [np.pad(line, (3 + (slanted and u == 2), 4), constant_values=border) for u, line in enumerate(x)]
        np.testing.assert_array_equal(found, np.max([line[: length + 6] for line in wide], axis=0))
