"""PlanAndUpdateBufferAllocationLocation and CompactBufferAllocation: where buffers are made anew, and how large."""

from __future__ import annotations

from typing import Any

import pytest

from baton import tir
from baton._src.tir import stmt as st
from baton.script import tir as T
from tests.passes.tir.test_steps import X, after, of


@T.prim_func
def sum_copied_in_the_loop(A: T.Buffer((4, 9), "float32"), B: T.Buffer((4,), "float32")):
    own = T.alloc_buffer((4,), scope="local")
    unused = T.alloc_buffer((4,))
    for i, k in T.grid(4, 9):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                own[vi] = T.float32(0)
            own[vi] = own[vi] + A[vi, vk]
        with T.block("copy"):
            vi = T.axis.spatial(4, i)
            B[vi] = own[vi]


@T.prim_func
def running_sum(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    total = T.alloc_buffer((1,))
    for i in range(8):
        if i == 0:
            total[0] = T.float32(0)
        total[0] = total[0] + A[i]
        B[i] = total[0]


@T.prim_func
def differences(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    doubled = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("doubled"):
            vi = T.axis.spatial(8, i)
            doubled[vi] = A[vi] * T.float32(2)
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = doubled[vi] - doubled[T.max(vi - 1, 0)]


@T.prim_func
def halves(A: T.Buffer((2, 8), "float32"), B: T.Buffer((16,), "float32")):
    mixed = T.alloc_buffer((16,))
    for i in range(2):
        for j in range(8):
            with T.block("mixed"):
                vi, vj = T.axis.remap("SS", [i, j])
                mixed[vj * 2 + vi] = A[vi, vj]
        for j in range(15):
            with T.block("B"):
                v = T.axis.spatial(16, i + j)
                B[v] = mixed[v]


@T.prim_func
def diagonals(A: T.Buffer((4,), "float32"), B: T.Buffer((4, 4), "float32")):
    square = T.alloc_buffer((4, 4))
    for i in range(4):
        for j in range(4):
            if i == 0:
                for k in range(4):
                    square[j, k] = T.float32(0)
        for j in range(4):
            square[j, j] = A[j] + square[j, j]
        for j in range(4):
            B[i, j] = square[j, 3]


@T.prim_func
def own_tiles(A: T.Buffer((4, 12), "float32"), B: T.Buffer((4, 12), "float32")):
    tile = T.alloc_buffer((4, 12))
    for i in range(4):
        for j, k in T.grid(3, 4):
            with T.block("tile"):
                vi = T.axis.spatial(4, i)
                vj = T.axis.spatial(12, j * 4 + k)
                tile[vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(12):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = tile[vi, 11 - vj]


def homes(func: Any) -> dict[str, str]:
    """The block that allocates each buffer."""
    return {b.name: block.name_hint for block in of(st.Block, func) for b in block.alloc_buffers}


@pytest.mark.parametrize("func", [sum_copied_in_the_loop, running_sum, differences, halves, diagonals])
@pytest.mark.parametrize("first", [[], [X.LowerInitBlock()]])
def test_buffers_stay_outside_of_loops_that_go_on_from_them(func: Any, first: list[Any]) -> None:
    """They were made anew in each iteration, and what earlier ones had stored was gone: results were garbage."""
    steps = [X.PlanAndUpdateBufferAllocationLocation(), X.LowerInitBlock(), X.ConvertBlocksToOpaque()]
    after(func, *first, *steps, X.CompactBufferAllocation(), X.LowerOpaqueBlock())


def test_tiles_that_fill_what_is_read_are_inside() -> None:
    """Guards stores by several loops: together they leave no hole."""
    assert homes(after(own_tiles, X.PlanAndUpdateBufferAllocationLocation()))["tile"] == ""


def test_accesses_of_parameters_have_an_innermost_scope_too() -> None:
    """As in TVM: parameters are listed, and what nothing is around has none."""
    found = {b.name: scope for b, scope in tir.analysis.detect_buffer_access_lca(running_sum).items()}
    assert [type(found[name]) for name in ("A", "B", "total")] == [st.For] * 3
    single = running_sum.with_fields(body=of(st.BufferStore, running_sum)[0])
    assert list(tir.analysis.detect_buffer_access_lca(single).values()) == [None]


def test_a_sum_moves_into_the_loop_it_does_not_go_along() -> None:
    """The buffer of one sum is made anew for each i, not for each k; what nothing accesses is gone."""
    found = after(sum_copied_in_the_loop, X.LowerInitBlock(), X.PlanAndUpdateBufferAllocationLocation())
    assert homes(found) == {"own": ""}
    loops = [loop for loop in of(st.For, found) if isinstance(loop.body, st.BlockRealize)]
    assert [loop.loop_var.name for loop in loops if loop.body.block.alloc_buffers] == ["i"]
    (block,) = [b for b in of(st.Block, found) if b.name_hint == "sum"]
    assert [r.buffer.name for r in block.reads] == ["own", "A"]


@T.prim_func
def pointed_at(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        with T.block("outer"):
            vi = T.axis.spatial(8, i)
            row = T.alloc_buffer((8, 8))
            again = T.decl_buffer((64,), data=row.data)
            for j in range(8):
                row[vi, j] = A[vi, j]
            for j in range(8):
                B[vi, j] = again[vi * 8 + j]


@T.prim_func
def viewed(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i in range(8):
        with T.block("outer"):
            vi = T.axis.spatial(8, i)
            tmp = T.alloc_buffer((8, 8))
            for j in range(4):
                tmp[vi, j] = A[vi, j]
            for j in range(4, 8):
                with T.block("inner"):
                    vj = T.axis.spatial(8, j)
                    part = T.match_buffer(tmp[vi, vj], (), "float32")
                    part[()] = A[vi, vj]
            for j in range(8):
                with T.block("B"):
                    vj = T.axis.spatial(8, j)
                    part = T.match_buffer(tmp[vi, 0:8], (8,), "float32")
                    B[vi, vj] = part[vj]


@T.prim_func
def aligned(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    tmp = T.alloc_buffer((8, 8))
    for i in range(8):
        for j in range(8):
            with T.block("tmp"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"buffer_dim_align": [[0, 0, 4, 1]]})
                tmp[vi, vj] = A[vi, vj]
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = tmp[vi, 7 - vj]


@pytest.mark.parametrize(("func", "shape"), [(pointed_at, [8, 8]), (viewed, [8, 8]), (aligned, [1, 8])])
def test_what_other_accesses_show_is_kept(func: Any, shape: list[int]) -> None:
    """Buffers declared again, and views, lay where the smaller buffer had no memory."""
    steps = [X.LowerInitBlock(), X.PlanAndUpdateBufferAllocationLocation(), X.ConvertBlocksToOpaque()]
    found = after(func, *steps, X.CompactBufferAllocation())
    (buffer,) = [b for block in of(st.Block, found) for b in block.alloc_buffers]
    assert [int(d) for d in buffer.shape] == shape
    after(func, *steps, X.CompactBufferAllocation(), X.LowerMatchBuffer(), X.LowerOpaqueBlock(), X.FlattenBuffer())
    if func is aligned:
        assert [int(s) for s in buffer.strides] == [9, 1]


@T.prim_func
def open_rows(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (n, m))
    tmp = T.alloc_buffer((n, m))
    for i in range(n):
        for j in range(m):
            tmp[i, j] = A[i, j] + T.float32(1)
        for j in range(m):
            B[i, j] = tmp[i, m - 1 - j]


def test_axes_of_known_extent_shrink_beside_open_ones() -> None:
    """One row of n is enough, whatever n is; it was kept whole where another axis was open."""
    steps = [X.PlanAndUpdateBufferAllocationLocation(), X.ConvertBlocksToOpaque()]
    found = after(open_rows, *steps, X.CompactBufferAllocation(is_strict=False))
    (buffer,) = [b for block in of(st.Block, found) for b in block.alloc_buffers]
    assert str(buffer.shape[0]) == "1"
