"""Rolling buffers, buffers for indices, copies of what is changed in place: the meaning stays, natively too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.allocation_places import PlanAndUpdateBufferAllocationLocation
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.te.tensor import Tensor
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.operators import all as te_all
from baton._src.tir.operators import max as larger
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.stmt import Block
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script
from tests.codegen.native_run import run_native


def same(func: PrimFunc, scheduled: PrimFunc) -> None:
    """Both compute the same, interpreted and native, and the text reads back."""
    assert check_prim_func(scheduled) == []
    assert script(parse_text(script(scheduled))) == script(scheduled)
    rng = np.random.default_rng(0)

    def arrays() -> list[np.ndarray]:
        return [np.zeros([int(d) for d in b.shape], b.dtype.numpy) for b in func.buffer_map.values()]

    first = [rng.integers(-9, 9, a.shape).astype(a.dtype) for a in arrays()]
    wanted, *found = ([a.copy() for a in first] for _ in range(3))
    run_prim_func(func, wanted)
    run_prim_func(scheduled, found[0])
    run_native(scheduled, *found[1])
    for one in found:
        for a, b in zip(one, wanted):
            np.testing.assert_array_equal(a, b)


def pooled(n: int, window: int, step: int) -> PrimFunc:
    """Rows doubled, then the largest of windows of them, which move on by `step`."""
    x = placeholder((n, 8), name="X")
    made: Tensor = compute((n, 8), lambda i, j: x[i, j] * 2.0, name="B")
    r, c = reduce_axis((0, window), "r"), reduce_axis((0, 2), "c")
    rows = (n - window) // step + 1
    return create_prim_func(
        [x, compute((rows, 7), lambda i, j: reduction.max(made[i * step + r, j + c], axis=[r, c]), name="C")]
    )


def sizes(func: PrimFunc) -> dict[str, list[int]]:
    blocks = (n for n in post_order(func.body) if isinstance(n, Block))
    return {b.name: [int(d) for d in b.shape] for block in blocks for b in block.alloc_buffers}


@pytest.mark.parametrize(("n", "window", "step"), [(10, 3, 1), (11, 4, 2), (12, 3, 2), (9, 5, 1), (4, 3, 1)])
def test_windows_keep_what_they_share(n: int, window: int, step: int) -> None:
    """Guards which elements are made anew, and where they lie, for windows and steps of several sizes."""
    func = pooled(n, window, step)
    sch = Schedule(func)
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.rolling_buffer("B", 0)
    assert sizes(sch.func)["B"] == [window, 8]
    same(func, sch.func)


def test_windows_within_tiles() -> None:
    """Guards loops around and inside of the one that windows move along."""
    func = pooled(12, 3, 1)
    sch = Schedule(func)
    i, j, *_ = sch.get_loops("C")
    jo, ji = sch.split(j, [None, 2])
    sch.reorder(jo, i, ji)
    sch.compute_at("B", i)
    sch.rolling_buffer("B", 0)
    same(func, sch.func)
    with pytest.raises(DiagnosticError, match="carries the axis"):
        sch.parallel(jo)
    sch = Schedule(func)
    i, j, *_ = sch.get_loops("C")
    jo, ji = sch.split(j, [None, 1])
    sch.compute_at("B", jo)
    sch.rolling_buffer("B", 0)
    assert "T.where((i < 1 or 2 <= ax0) and (j_0 < 1 or 1 <= ax1))" in script(sch.func)  # both ways windows overlap
    same(func, sch.func)


def test_what_does_not_roll_is_refused() -> None:
    """Guards parameters, parallel loops, blocks that share no loop, and windows side by side."""
    sch = Schedule(pooled(10, 3, 1))
    with pytest.raises(DiagnosticError, match="share no loop"):
        sch.rolling_buffer("B", 0)
    with pytest.raises(DiagnosticError, match="C is not written by block C alone, or nobody reads it"):
        sch.rolling_buffer("C", 0)
    i = sch.get_loops("C")[0]
    sch.compute_at("B", i)
    sch.parallel(i)
    with pytest.raises(DiagnosticError, match="no iterations overlap"):
        sch.rolling_buffer("B", 0)
    apart = Schedule(pooled(12, 3, 3))
    apart.compute_at("B", apart.get_loops("C")[0])
    with pytest.raises(DiagnosticError, match="no iterations overlap"):
        apart.rolling_buffer("B", 0)


def test_threads_do_not_share_windows() -> None:
    """Guards loops outside of the one that windows move along: their iterations would write the same elements."""
    sch = Schedule(pooled(18, 3, 1))
    outer, inner = sch.split(sch.get_loops("C")[0], [None, 4])
    sch.parallel(outer)
    sch.compute_at("B", inner)
    with pytest.raises(DiagnosticError, match="parallel loop over i_0 would share one window of B"):
        sch.rolling_buffer("B", 0)
    x = placeholder((10, 8), name="X")
    made = compute((10, 8), lambda i, j: x[i, j] * 2.0, name="B")
    several = compute((4, 9, 8), lambda k, i, j: (made[i, j] + made[i + 1, j]) * k, name="C")
    sch = Schedule(create_prim_func([x, several]))
    k, i, _ = sch.get_loops("C")
    sch.compute_at("B", i)
    sch.rolling_buffer("B", 0)
    with pytest.raises(DiagnosticError, match="stores elements of B in one iteration over k"):
        sch.parallel(k)


def test_rolled_padding_is_not_taken_apart() -> None:
    """Guards an element that is padding first and data later: filled beforehand, its padding would be lost."""
    x = placeholder((6,), "int32", "X")
    p = compute((8,), lambda i: if_then_else(te_all(i >= 1, i < 7), x[i - 1], 5), name="P")
    c = compute((6,), lambda i: p[i] + p[i + 1] + p[i + 2], name="C")
    s = Schedule(create_prim_func([x, c]))
    s.compute_at("P", s.get_loops("C")[0])
    s.rolling_buffer("P", 0)
    with pytest.raises(DiagnosticError, match="padding and data in one element of P"):
        s.decompose_padding("P", s.get_loops("P")[0])


def test_axes_that_roll_are_not_vectorized() -> None:
    """Guards the rule for loops over axes that go on from one another, whichever of the two primitives comes first."""
    sch = Schedule(pooled(10, 3, 1))
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.vectorize(sch.get_loops("B")[1])
    before = sch.func
    with pytest.raises(DiagnosticError, match="carries the axis"):
        sch.rolling_buffer("B", 0)
    assert sch.func is before


def test_windows_are_made_whole_by_every_iteration() -> None:
    """Guards elements that the iteration before did not make: left out by a condition, on a diagonal, dilated."""
    sch = Schedule(pooled(10, 3, 1))
    sch.compute_at("B", sch.get_loops("C")[0])
    sch.split(sch.get_loops("B")[1], [None, 2])
    with pytest.raises(DiagnosticError, match="condition ax0_0 \\* 2 \\+ ax0_1 < 3 only"):
        sch.rolling_buffer("B", 0)
    x = placeholder((8, 8), name="X")
    made: Tensor = compute((8, 8), lambda i, j: x[i, j] * 2.0, name="B")
    sch = Schedule(create_prim_func([x, compute((7,), lambda i: made[i, i] + made[i + 1, i + 1], name="C")]))
    sch.compute_at("B", sch.get_loops("C")[0])
    with pytest.raises(DiagnosticError, match="axis 0 is not told by that index alone"):
        sch.rolling_buffer("B", 0)
    with pytest.raises(DiagnosticError, match="may leave out elements of a window"):
        Schedule(parse_text(HOLES)).rolling_buffer("B", 0)
    with pytest.raises(DiagnosticError, match="reads B outside of the window of 3"):
        Schedule(parse_text(HOLES.replace("2 * r", "r"))).rolling_buffer("B", 0)


HOLES = """
@T.prim_func
def main(A: T.Buffer((12,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((12,), "float32")
    for i in range(8):
        for r in range(3):
            with T.block("B"):
                v = T.axis.spatial(12, i + 2 * r)
                B[v] = A[v] * T.float32(2)
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v] + B[v + 4]
"""


def test_windows_are_kept_where_buffers_are_placed() -> None:
    """Guards the pass that moves allocations inwards: a window outlives an iteration of its loop."""
    func = pooled(18, 3, 1)
    sch = Schedule(func)
    _, inner = sch.split(sch.get_loops("C")[0], [None, 4])
    sch.compute_at("B", inner)
    sch.rolling_buffer("B", 0)
    placed = PlanAndUpdateBufferAllocationLocation()(IRModule({"main": sch.func}))["main"]
    assert isinstance(placed, PrimFunc)
    same(func, placed)


def stretched() -> PrimFunc:
    x = placeholder((4, 6), name="X")

    def element(i: Any, j: Any) -> Any:
        return larger(x[i * 4 // 9, j * 6 // 11], x[i * 4 // 9, 5 - j * 6 // 11])

    return create_prim_func([x, compute((9, 11), element, name="C")])


def test_indices_are_computed_beforehand() -> None:
    """Guards an index of each axis, one used twice, and the threshold."""
    func = stretched()
    sch = Schedule(func)
    assert [block.name for block in sch.cache_index("C", "global")] == ["index_0", "index_1", "index_2"]
    assert sizes(sch.func) == {"index_var_0": [9], "index_var_1": [11], "index_var_2": [11]}
    same(func, sch.func)
    often = Schedule(func)
    assert [block.name for block in often.cache_index("C", "global", 1)] == ["index_0"]
    same(func, often.func)
    again = Schedule(func)
    again.trace.apply_to_schedule(again)
    sch.trace.apply_to_schedule(again)
    assert script(again.func) == script(sch.func)


IN_PLACE = parse_text("""
@T.prim_func
def main(A: T.Buffer((6, 4), "float32"), B: T.Buffer((6, 4), "float32")):
    for i, j in T.grid(6, 4):
        with T.block("step"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj], B[vi, vj])
            T.writes(A[vi, vj])
            A[vi, vj] = A[vi, vj] * T.float32(2) + B[vi, vj]
    for i, j in T.grid(6, 4):
        with T.block("after"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, 0:4])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, 3 - vj]
""")


@pytest.mark.parametrize("which", [0, "A"])
def test_a_copy_is_changed_instead(which: int | str) -> None:
    """Guards the copy there and back, also when only some of the buffer is written."""
    sch = Schedule(IN_PLACE)
    before, back = sch.cache_inplace("step", which, "local")
    assert [sch.get(block).reads[0].buffer.name for block in (before, back)] == ["A", "A_local"]
    same(IN_PLACE, sch.func)
    part = parse_text(script(IN_PLACE).replace("T.grid(6, 4)", "T.grid(3, 2)", 1))
    sch = Schedule(part)
    sch.cache_inplace("step", which, "global")
    same(part, sch.func)
    with pytest.raises(DiagnosticError, match="does not write it"):
        sch.cache_inplace("step", "B", "global")
