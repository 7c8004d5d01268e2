"""Blocks made of several blocks, under conditions, and of loops whose extent is not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.schedule.traces.trace import Trace
from baton.script import tir as T


@T.prim_func
def rows(A: T.Buffer((6, 8), "float32"), C: T.Buffer((6, 8), "float32"), D: T.Buffer((6, 8), "float32")):
    B = T.alloc_buffer((6, 8), "float32")
    for i in range(6):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)
        for j0, j1 in T.grid(2, 4):
            with T.block("C"):
                vi = T.axis.spatial(6, i)
                vj = T.axis.spatial(8, j0 * 4 + j1)
                C[vi, vj] = B[vi, vj] + T.float32(1)
        for j in range(8):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vi, vj] + C[vi, vj]


@T.prim_func
def sums(A: T.Buffer((13, 6), "float32"), C: T.Buffer((13,), "float32")):
    for i, k in T.grid(13, 6):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def open_rows(a: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (4, n), "float32")
    C = T.match_buffer(c, (4, n), "float32")
    for i, j in T.grid(4, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)


def same(func: Any, change: Any, *shapes: tuple[int, ...]) -> tir.Schedule:
    """The changed schedule computes what the function does, and its trace gives the same program."""
    s = tir.Schedule(func)
    change(s)
    check_prim_func(s.func)
    draw = np.random.default_rng(1)
    before = [draw.standard_normal(shape).astype("float32") for shape in shapes]
    after = [array.copy() for array in before]
    run_prim_func(func, before)
    run_prim_func(s.func, after)
    for array, expected in zip(after, before):
        np.testing.assert_allclose(array, expected, rtol=1e-6)
    again = tir.Schedule(func)
    Trace.apply_json_to_schedule(s.trace.as_json(), again)
    assert again.func.script() == s.func.script()
    return s


ROWS = ((6, 8), (6, 8), (6, 8))


def test_several_blocks() -> None:
    """Guards the name and the axes of the block, and that those inside keep their own loops."""

    def change(s: tir.Schedule) -> None:
        made = s.blockize([s.get_block("B"), s.get_block("C")])
        assert made.name == "outer_B_C_"
        assert [block.name for block in s.get_child_blocks(made)] == ["B", "C"]
        s.parallel(s.get_loops(made)[0])
        s.unroll(s.get_loops("C")[0])

    s = same(rows, change, *ROWS)
    block = s.get("outer_B_C_")
    assert [(axis.var.name, int(axis.dom.extent)) for axis in block.iter_vars] == [("vi_o", 6), ("vj_o", 1)]
    assert [str(w.buffer.name) for w in block.writes] == ["B", "C"]
    assert [len(s.get(name).iter_vars) for name in ("B", "C", "D")] == [1, 1, 2]


def test_all_blocks_of_a_loop() -> None:
    """Guards blocks that are all there is in the loop, given by name and in another order than theirs."""
    s = same(rows, lambda s: s.blockize(["C", "B", "D"]), *ROWS)
    assert [block.name for block in s.get_child_blocks(s.get_loops("outer_C_B_D_")[0])] == ["outer_C_B_D_"]
    assert [block.name for block in s.get_child_blocks("outer_C_B_D_")] == ["B", "C", "D"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (lambda s: ["B"], "two different blocks or more"),
        (lambda s: ["B", "B"], "two different blocks or more"),
        (lambda s: ["B", "D"], "other statements stand between"),
        (lambda s: ["root", "D"], "inside of another"),
        (lambda s: "B", "takes a loop or a list of blocks"),
        (lambda s: [s.get_loops("B")[0]], "takes a loop or a list of blocks"),
    ],
)
def test_blocks_that_are_no_unit(given: Any, why: str) -> None:
    s = tir.Schedule(rows)
    with pytest.raises(DiagnosticError, match=why):
        s.blockize(given(s))


def test_blocks_with_other_axes_outside() -> None:
    @T.prim_func
    def crossed(A: T.Buffer((6, 6), "float32"), C: T.Buffer((6, 6), "float32")):
        B = T.alloc_buffer((6, 6), "float32")
        for i in range(6):
            for j in range(6):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj]
            for j in range(6):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [j, i])
                    C[vi, vj] = A[vi, vj]

    with pytest.raises(DiagnosticError, match="different axes outside"):
        tir.Schedule(crossed).blockize(["B", "C"])


@pytest.mark.parametrize("inside", [0, 1, 2])
def test_conditions(inside: int) -> None:
    """Guards conditions on loops outside, on loops inside, and on both, which do not divide."""

    def change(s: tir.Schedule) -> None:
        loops = s.split(s.get_loops("C")[0], [None, 4])
        k = s.get_loops("C")[2]
        s.reorder(k, *loops) if inside == 1 else None
        s.blockize((k, loops[0], loops[1])[inside])

    if inside == 2:
        with pytest.raises(DiagnosticError, match="a condition on loops inside and outside"):
            same(sums, change, (13, 6), (13,))
        return
    s = same(sums, change, (13, 6), (13,))
    where = [name for name in ("C_o", "C") if not isinstance(s.realize(name).predicate, tir.IntImm)]
    assert where == [("C_o", "C")[inside]]


def test_the_start_of_sums_knows_no_condition_on_them() -> None:
    def change(s: tir.Schedule) -> None:
        s.blockize(s.split(s.get_loops("C")[1], [None, 4])[0])

    with pytest.raises(DiagnosticError, match="its initialisation knows nothing of"):
        same(sums, change, (13, 6), (13,))


def test_loops_of_unknown_extent() -> None:
    """Guards an axis that is inside as a whole."""
    s = same(open_rows, lambda s: s.blockize(s.get_loops("C")[1]), (4, 5), (4, 5))
    assert [str(axis.dom.extent) for axis in s.get("C_o").iter_vars] == ["4", "T.int64(1)"]
    assert [str(axis.dom.extent) for axis in s.get("C").iter_vars] == ["n"]


@pytest.mark.parametrize("keeps_one", [True, False])
@pytest.mark.parametrize("n", [4, 6])
def test_axes_that_do_not_begin_at_0(n: int, keeps_one: bool) -> None:
    """Guards the axes of parts of loops, which began at 0 in the block: it stored other rows."""
    a = te.placeholder((n, 5), name="A")
    func = te.create_prim_func([a, te.compute((n, 5), lambda i, j: a[i, j] * 2.0, name="C")])

    def change(s: tir.Schedule) -> None:
        s.loop_partition(s.get_loops("C")[0], [3, None])
        s.blockize(s.get_loops("C_i1")[0], preserve_unit_iters=keeps_one)

    same(func, change, (n, 5), (n, 5))
