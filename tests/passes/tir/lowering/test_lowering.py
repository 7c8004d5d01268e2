"""Lowering to plain loops, step by step: what blocks, dims, marks on loops become, and that the meaning stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.expr import Range
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.lowering.flatten_buffers import flatten_buffers
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.passes.tir.lowering.lower_blocks import lower_blocks
from baton._src.passes.tir.lowering.lower_prim_func import lower_prim_func
from baton._src.passes.tir.lowering.unroll_loops import unroll_loops
from baton._src.passes.tir.lowering.vectorize_loops import vectorize_loops
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import BufferRegion, decl_buffer
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.prim_func import PrimFunc

WIDE = Target("llvm -mcpu=x86-64-v4")
NARROW = Target("llvm -mcpu=x86-64")


def row_sums(n: Any, k: Any) -> PrimFunc:
    a = placeholder((n, k), "float32", "A")
    r = reduce_axis((0, k), "r")
    return create_prim_func([a, compute((n,), lambda i: reduction.sum(a[i, r], r), "B")])


def of(kind: type, body: Any) -> list[Any]:
    return [n for n in post_order(body) if isinstance(n, kind)]


def vector_loop(extent: Any, value: Any = None) -> tuple[st.For, Any]:
    """for i in vectorized(extent): B[i] = value(i) or A[i]"""
    source, target = decl_buffer((100,), "float32", "A"), decl_buffer((100,), "float32", "B")
    i = tir.Var("i", "int64")
    content = tir.BufferLoad(source, (i,)) if value is None else value(i)
    loop = st.For(i, 0, extent, st.ForKind.VECTORIZED, st.BufferStore(target, content, (i,)))
    return loop, (source, target)


def test_initialisation_moves_in_front() -> None:
    """Guards the place of the init: before the reducing loop, so an empty reduction gives the identity."""
    body = lower_blocks(row_sums(4, 5).body)
    assert not of(st.BlockRealize, body)
    (outer,) = [loop for loop in of(st.For, body) if isinstance(loop.body, st.SeqStmt)]
    init, inner = outer.body.seq
    assert isinstance(init, st.BufferStore)
    assert isinstance(inner, st.For)
    assert not of(st.IfThenElse, body)


def test_initialisation_stays_inside_when_it_must() -> None:
    """Guards loops with something else in them: the init runs at the start of every reduced axis."""
    func = row_sums(4, 5)
    root = func.body
    assert isinstance(root, st.BlockRealize)
    outer = root.block.body
    assert isinstance(outer, st.For)
    inner = outer.body
    assert isinstance(inner, st.For)
    nothing = st.Evaluate(tir.IntImm("int32", 0))
    changed = outer.with_fields(body=inner.with_fields(body=st.SeqStmt((nothing, inner.body))))
    func = func.with_fields(body=root.with_fields(block=root.block.with_fields(body=changed)))
    lowered = func.with_fields(body=lower_blocks(func.body))
    assert of(st.IfThenElse, lowered.body)
    x, found = np.arange(20, dtype="float32").reshape(4, 5), np.ones(4, "float32")
    run_prim_func(lowered, [x, found])
    np.testing.assert_array_equal(found, x.sum(1))


def test_views_become_accesses_of_what_they_show() -> None:
    """Guards match_buffer: offsets are added."""
    a = decl_buffer((8, 8), "float32", "A")
    view = decl_buffer((2, 2), "float32", "V")
    two = tir.IntImm("int32", 2)
    from_where = st.MatchBufferRegion(
        view, source=_region(a, [(tir.IntImm("int32", 4), two), (tir.IntImm("int32", 6), two)])
    )
    store = st.BufferStore(view, tir.FloatImm("float32", 1.0), (1, 1))
    block = st.Block((), (), (), "b", store, match_buffers=(from_where,))
    (found,) = of(st.BufferStore, lower_blocks(block))
    assert found.buffer is a
    assert [i.value for i in found.indices] == [5, 7]


def _region(buffer: Any, ranges: list[Any]) -> Any:
    return BufferRegion(buffer, tuple(Range(a, b) for a, b in ranges))


def test_flat_indices() -> None:
    """Guards row-major order, strides and offsets, in 64 bits."""
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    plain = decl_buffer((3, 5), "float32", "A")
    strided = decl_buffer((3, 5), "float32", "S", strides=(10, 2), elem_offset=tir.IntImm("int64", 7))
    for buffer, expected in ((plain, 2 * 5 + 4), (strided, 2 * 10 + 4 * 2 + 7)):
        stored = flatten_buffers(st.BufferStore(buffer, tir.FloatImm("float32", 0.0), (i, j)))
        (store,) = of(st.BufferStore, stored)
        (index,) = store.indices
        assert index.dtype == "int64"
        known = substitute_and_fold(index, {i: tir.IntImm("int32", 2), j: tir.IntImm("int32", 4)})
        assert known.value == expected


def test_offsets_of_views_stay_where_they_are() -> None:
    """Guards that memory used first through rows that a loop moves over mentions no variable of that loop later."""
    whole, i, j = decl_buffer((3, 5), "float32", "A"), tir.Var("i", "int64"), tir.Var("j", "int64")
    row = whole.with_fields(shape=(tir.IntImm("int64", 5),), elem_offset=tir.Mul(i, tir.IntImm("int64", 5)))
    zero = tir.FloatImm("float32", 0.0)
    first = st.For(i, 0, 3, st.ForKind.SERIAL, st.BufferStore(row, zero, (tir.IntImm("int64", 2),)))
    second = st.For(j, 0, 3, st.ForKind.PARALLEL, st.BufferStore(whole, zero, (j, j)))
    _, after = flatten_buffers(st.SeqStmt((first, second))).seq
    assert i not in post_order(after)


@pytest.mark.parametrize("extent", [1, 2, 3, 16, 17, 40, 48, 300])
@pytest.mark.parametrize("target", [WIDE, NARROW])
def test_vectors_cover_the_loop_exactly(extent: int, target: Target) -> None:
    """Guards full vectors and tails: every iteration once, none beyond the end."""
    loop, (source, target_buffer) = vector_loop(tir.IntImm("int64", extent))
    body = vectorize_loops(loop, target)
    handles = [tir.Var("a", "handle"), tir.Var("b", "handle")]
    func = PrimFunc(handles, body, None, dict(zip(handles, (source, target_buffer))))
    lanes = max(s.value.dtype.lanes for s in of(st.BufferStore, body))
    assert lanes > 1 or extent < 2
    assert lanes <= target.lanes(32)
    stored = sum(_covered(s, body) for s in of(st.BufferStore, body))
    assert stored == extent or of(st.IfThenElse, body)
    assert func.params


def test_the_width_of_vectors_is_known() -> None:
    """Guards choices by it: the branch that is not taken is gone."""
    bits = tir.Call("int32", intrinsic("vector_bits"), ())
    wide, narrow = (st.Evaluate(tir.IntImm("int32", n)) for n in (1, 2))
    choice = st.IfThenElse(tir.EQ(bits, tir.IntImm("int32", 512)), wide, narrow)
    assert vectorize_loops(choice, WIDE) is wide
    assert vectorize_loops(choice, NARROW) is narrow
    assert isinstance(vectorize_loops(choice.with_fields(else_case=None), NARROW), st.Evaluate)


@pytest.mark.parametrize("extent", [0, -2])
def test_no_vector_is_stored_by_a_loop_without_turns(extent: int) -> None:
    """Guards range(3, 1): -2 were taken for -1 vectors and a tail, which were written over what is in front."""
    loop, _ = vector_loop(tir.IntImm("int64", extent))
    assert not of(st.BufferStore, vectorize_loops(loop, WIDE))


def _covered(store: st.BufferStore, body: st.Stmt) -> int:
    """Elements written by a store, with the constant loops around it."""
    count = store.value.dtype.lanes
    for loop in of(st.For, body):
        if store in set(post_order(loop.body)):
            count *= loop.extent.value
    return count


def test_what_does_not_vectorise_stays_a_loop() -> None:
    """Guards reductions into one place: the mark is a wish."""
    target, source = decl_buffer((1,), "float32", "B"), decl_buffer((100,), "float32", "A")
    i, zero = tir.Var("i", "int64"), (tir.IntImm("int64", 0),)
    total = tir.Add(tir.BufferLoad(target, zero), tir.BufferLoad(source, (i,)))
    loop = st.For(i, 0, tir.IntImm("int64", 32), st.ForKind.VECTORIZED, st.BufferStore(target, total, zero))
    body = vectorize_loops(loop, WIDE)
    assert isinstance(body, st.For)
    assert body.kind is st.ForKind.SERIAL


def test_conditions_become_masks() -> None:
    """Guards predication: a condition on the vector axis has lanes."""
    loop, (source, _) = vector_loop(tir.IntImm("int64", 16))
    i = loop.loop_var
    guarded = loop.with_fields(body=st.IfThenElse(tir.LT(i, tir.IntImm("int64", 10)), loop.body))
    (condition,) = [n.condition for n in of(st.IfThenElse, vectorize_loops(guarded, WIDE))]
    assert condition.dtype.lanes == 16
    assert source.name == "A"


def test_unrolling() -> None:
    """Guards copies with folded indices; symbolic extents stay loops."""
    loop, _ = vector_loop(tir.IntImm("int64", 3))
    body = unroll_loops(loop.with_fields(kind=st.ForKind.UNROLLED))
    assert [s.indices[0].value for s in of(st.BufferStore, body)] == [0, 1, 2]
    symbolic, _ = vector_loop(tir.Var("n", "int64"))
    kept = unroll_loops(symbolic.with_fields(kind=st.ForKind.UNROLLED))
    assert isinstance(kept, st.For)
    assert kept.kind is st.ForKind.SERIAL


def test_signature_of_the_lowered_function() -> None:
    """Guards the params: data pointers, then shape variables as int64 whatever their own type."""
    n = tir.Var("n", "int32")
    lowered = lower_prim_func(row_sums(n, 5), WIDE)
    assert [str(p.dtype) for p in lowered.params] == ["handle", "handle", "int64"]
    assert not lowered.buffer_map
    assert of(st.LetStmt, lowered.body)


def test_buffers_of_computed_sizes_keep_their_identity() -> None:
    """Guards the scratch of a row: a load folded to another object of the same buffer read what nobody had written."""
    h, i, j = (tir.Var(name, "int64") for name in "hij")
    half = tir.FloorDiv(h, tir.IntImm("int64", 2))
    wide = tir.Add(tir.Add(h, tir.IntImm("int64", 1)), tir.IntImm("int64", 2))  # which folds to h + 3
    for size in (half, wide):
        buffer = decl_buffer((size,), "float32")
        load = tir.BufferLoad(buffer, [i])
        moved = substitute_and_fold(load, {i: j})
        assert moved.buffer is buffer
        assert moved.indices[0] is j
        assert substitute_and_fold(load, {h: j}).buffer is not buffer
