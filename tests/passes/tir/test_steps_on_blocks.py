"""Passes of `tvm.tir.transform` on kernels that still have their blocks."""

from __future__ import annotations

from typing import Any

import pytest

from baton import tir
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import check_prim_func
from baton.script import from_source
from baton.script import tir as T
from tests.passes.tir.test_steps import X, after, of


@T.prim_func
def summed(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    tmp = T.alloc_buffer((8, 16), "float32")
    for i, j in T.grid(8, 16):
        with T.block("doubled"):
            vi, vj = T.axis.remap("SS", [i, j])
            tmp[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j, k in T.grid(8, 16, 16):
        with T.block("sum"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(tmp[vi, 0:16])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + tmp[vi, vk]


@T.prim_func
def written_out(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    for i in T.serial(4):
        for j in T.unroll(2):
            for k in T.unroll(4):
                with T.block("outer"):
                    vi = T.axis.spatial(4, i)
                    vj = T.axis.spatial(8, j * 4 + k)
                    own = T.alloc_buffer((2,), "float32", scope="local")
                    for q in T.unroll(2):
                        with T.block("inner"):
                            vq = T.axis.spatial(2, q)
                            own[vq] = A[vi, vj] + T.Cast("float32", vq)
                    C[vi, vj] = own[0] * own[1]


@T.prim_func
def viewed(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i in T.serial(8):
        with T.block("row"):
            vi = T.axis.spatial(8, i)
            row = T.match_buffer(A[vi, 0:8], (8,), "float32")
            for j in T.serial(8):
                C[vi, j] = row[j]


def test_flattened_blocks_say_what_they_access_of_the_flat_buffers() -> None:
    """Guards FlattenBuffer before blocks are lowered: they listed the buffers of several dims, and wrote others."""
    made = after(summed, X.FlattenBuffer())
    (root, doubled, total) = sorted(of(st.Block, made), key=lambda b: ("root", "doubled", "sum").index(b.name_hint))
    assert [b.ndim for b in root.alloc_buffers] == [1]
    assert doubled.writes[0].buffer is root.alloc_buffers[0]
    (read,) = total.reads
    assert int(read.region[0].extent) == 16
    after(summed, X.FlattenBuffer(), X.LowerInitBlock(), X.ConvertBlocksToOpaque(), X.LowerOpaqueBlock())


def test_views_are_lowered_before_buffers_are_flat() -> None:
    """Guards the refusal: a view has dims of its own."""
    with pytest.raises(DiagnosticError, match="LowerMatchBuffer"):
        after(viewed, X.FlattenBuffer())
    after(viewed, X.LowerMatchBuffer(), X.FlattenBuffer())


@pytest.mark.parametrize("func", [written_out, summed])
def test_blocks_written_out_have_axes_and_memory_of_their_own(func: Any) -> None:
    """Guards UnrollLoop before blocks are lowered: every copy of a block defined the same axes."""
    made = after(func, X.UnrollLoop())
    axes = [iv.var for b in of(st.Block, made) for iv in b.iter_vars]
    assert len(set(axes)) == len(axes)
    memory = [b.data for block in of(st.Block, made) for b in block.alloc_buffers]
    assert len(set(memory)) == len(memory)
    assert set(tir.analysis.undefined_vars(made.body)) == set(tir.analysis.undefined_vars(func.body))


def test_weights_arrive_in_their_layout() -> None:
    """Guards the parameter of the new layout, and the block that copied, which does nothing."""

    @T.prim_func
    def before(W: T.Buffer((4, 8)), Y: T.Buffer((2, 4, 4))):
        P = T.alloc_buffer((2, 4, 4))
        for k, n in T.grid(4, 8):
            with T.block("pack"):
                vk, vn = T.axis.remap("SS", [k, n])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                P[vn // 4, vk, vn % 4] = W[vk, vn]
        for o, k, i in T.grid(2, 4, 4):
            with T.block("Y"):
                vo, vk, vi = T.axis.remap("SSS", [o, k, i])
                Y[vo, vk, vi] = P[vo, vk, vi] + T.float32(1)

    @T.prim_func
    def after(P: T.Buffer((2, 4, 4)), Y: T.Buffer((2, 4, 4))):
        for o, k, i in T.grid(2, 4, 4):
            with T.block("Y"):
                vo, vk, vi = T.axis.remap("SSS", [o, k, i])
                Y[vo, vk, vi] = P[vo, vk, vi] + T.float32(1)

    module = IRModule({"main": before.with_attr("global_symbol", "after")})
    made = tir.transform.RemoveWeightLayoutRewriteBlock()(module)
    assert "T.evaluate(0)" in made["main"].script()
    assert_structural_equal(tir.transform.RemoveNoOp()(made)["main"], after)


def test_blocks_inside_a_view_say_what_they_access_of_its_buffer() -> None:
    """Guards LowerMatchBuffer, which left their regions with the view that was gone: the kernel could not be built."""

    @T.prim_func
    def nested(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
        for i in range(8):
            with T.block("row"):
                vi = T.axis.spatial(8, i)
                T.reads(A[vi, 0:4])
                T.writes(C[vi, 0:4])
                row = T.match_buffer(C[vi, 0:4], (4,), offset_factor=1)
                for j in range(4):
                    with T.block("element"):
                        vj = T.axis.spatial(4, j)
                        row[vj] = A[vi, vj]

    made = after(nested, X.LowerMatchBuffer())
    assert check_prim_func(made) == []
    (element,) = (b for b in of(st.Block, made) if b.name_hint == "element")
    assert [str(part) for part in element.writes] == ["C[vi, vj]"]
    assert_structural_equal(from_source(made.script()), made.with_attr("global_symbol", "nested"))


def test_memory_of_a_block_is_none_of_its_regions() -> None:
    """Guards blocks whose regions are kept, since a call uses pointers: they named memory that they now allocate."""

    @T.prim_func
    def unread(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        D = T.alloc_buffer((4,))
        with T.block("call"):
            T.reads(A[0:4])
            T.writes(D[0:4])
            T.call_packed("f", A, D)
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = A[vi]

    made = X.PlanAndUpdateBufferAllocationLocation()(IRModule({"main": unread}))["main"]
    (call,) = (b for b in of(st.Block, made) if b.name_hint == "call")
    assert [b.name for b in call.alloc_buffers] == ["D"]
    assert (len(call.reads), len(call.writes)) == (1, 0)
    assert from_source(made.script()).script() == made.script()
