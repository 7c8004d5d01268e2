"""Decompose a padding into two steps: fill with the pad value, then copy the data.

P[i] = A[i - 1] if 1 <= i < n + 1 else 0, for i < n + 2      ->      P[i] = 0 for all i; then P[i + 1] = A[i] for i < n
"""

from __future__ import annotations

import itertools
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.iterators.iter_map import invert
from baton._src.tir.arith.systems.linear import detect_clip_bound
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.conditions.stored_ranges import ordered
from baton._src.tir.schedule.transformations.buffer_accesses import with_simple_indices
from baton._src.tir.schedule.transformations.inline import require_only_writer
from baton._src.tir.schedule.tree import (
    find_block,
    find_loop,
    only_store,
    path_to,
    refreshed,
    refuse,
    replace,
    require_around,
    simplify,
    unused_name,
    with_condition,
)
from baton._src.tir.schedule.views import without_views


def decompose_padding(root: st.Stmt, name: str, var: tir.Var) -> tuple[st.Stmt, str]:
    """Store the pad value in a block `<name>_pad_const` before the loop over `var`; the block then copies only data."""
    root = without_views(root, name)
    realize = find_block(root, name)
    block = realize.block
    store = only_store(block)
    value = store.value
    padded = isinstance(value, tir.Call) and getattr(value.op, "name", "") == "tir.if_then_else"
    if not padded or block.init is not None:
        raise refuse(f"block {name} does not pad: its value is not if_then_else(inside, data, constant)")
    assert isinstance(value, tir.Call)
    condition, data, constant = value.args
    if any(isinstance(n, (tir.Var, tir.BufferLoad)) for n in post_order(constant)):
        raise refuse(f"what block {name} pads with is not a constant")
    require_only_writer(root, realize, store.buffer)
    _require_told(block, store, condition)
    loop = find_loop(root, var)
    require_around(loop, realize)
    below = [item for item in path_to(loop, realize) if isinstance(item, st.For)]
    fresh: dict[Any, Any] = {i.loop_var: tir.Var(f"{i.loop_var.name}_pad", i.loop_var.dtype) for i in below}
    own: dict[Any, Any] = {iv.var: tir.Var(f"{iv.var.name}_pad", iv.var.dtype) for iv in block.iter_vars}
    label = unused_name(root, f"{name}_pad_const")
    fill = st.BufferStore(store.buffer, constant, tuple(substitute(i, own) for i in store.indices))
    iters = [IterVar(iv.dom, own[iv.var], iv.iter_type) for iv in block.iter_vars]
    values = tuple(substitute(v, fresh) for v in realize.iter_values)
    nest: st.Stmt = st.BlockRealize(
        values, substitute(realize.predicate, fresh), refreshed(st.Block(iters, (), (), label, fill))
    )
    for item in reversed(below):
        nest = st.For(fresh[item.loop_var], item.min, item.extent, st.ForKind.SERIAL, nest)
    taken = realize.with_fields(block=block.with_fields(body=st.BufferStore(store.buffer, data, store.indices)))
    return replace(root, {loop: st.SeqStmt((nest, _of_data(loop, realize, taken, condition)))}), label


def _of_data(loop: st.For, realize: st.BlockRealize, taken: st.BlockRealize, condition: PrimExpr) -> st.Stmt:
    """The loops with the block that copies data in place of the one that pads: they run where there is data. Conditions
    that are not bounds of loops of their own stay conditions.
    """
    inside = _inside(loop, realize, condition)
    shift: dict[Any, Any] = {axis: ops.add(axis, over.min) for axis, over in inside.items()}
    block = taken.block
    own = [iv.with_fields(dom=_from_zero(inside[iv.var])) if iv.var in inside else iv for iv in block.iter_vars]
    bound: dict[Any, Any] = {iv.var: v for iv, v in zip(block.iter_vars, realize.iter_values)}
    made = taken.with_fields(block=block.with_fields(iter_vars=tuple(own), body=substitute(block.body, shift)))
    for part in ops.conjuncts(condition):
        if inside.keys().isdisjoint(post_order(part)):
            made = with_condition(made, substitute(part, bound))
    made = made.with_fields(block=_simple(made.block))
    if not inside:
        return replace(loop, {realize: made})
    extents = {bound[axis]: over.extent for axis, over in inside.items()}
    nest: st.Stmt = made
    for item in reversed([item for item in path_to(loop, realize) if isinstance(item, st.For)]):
        nest = item.with_fields(body=nest, extent=extents.get(item.loop_var, item.extent))
    return nest


def _simple(block: st.Block) -> st.Block:
    """The block with simple indices, and the regions of these."""
    return refreshed(with_simple_indices(block, {iv.var: iv.dom for iv in block.iter_vars if iv.dom is not None}))


def _from_zero(over: Range) -> Range:
    return Range(tir.IntImm(over.extent.dtype, 0), over.extent)


def _inside(loop: st.For, realize: st.BlockRealize, condition: PrimExpr) -> dict[tir.Var, Range]:
    """Where there is data, for those axes that are loops of their own and only have bounds in the condition."""
    path = path_to(loop, realize)
    nested = all(isinstance(a, st.For) and a.body is b for a, b in itertools.pairwise(path))
    loops = {item.loop_var: item for item in path if isinstance(item, st.For)} if nested else {}
    found: dict[tir.Var, Range] = {}
    for axis, value in zip(realize.block.iter_vars, realize.iter_values):
        item = loops.get(value) if isinstance(value, tir.Var) else None
        others = [v for v in realize.iter_values if v is not value]
        if item is None or axis.dom is None or value in post_order([*others, realize.predicate]):
            continue
        over = _bounds(axis.var, axis.dom, condition)
        if over is not None and _same_range(axis.dom, Range(item.min, item.extent)):
            found[axis.var] = over
    return found


def _bounds(axis: tir.Var, whole: Range, condition: PrimExpr) -> Range | None:
    """Where a condition lets an axis be; None if it says something else of the axis, or a part that may be none."""
    parts = [part for part in ops.conjuncts(condition) if axis in post_order(part)]
    limits = [detect_clip_bound(part, [axis]) for part in parts]
    if not parts or any(not pair for pair in limits):
        return None
    starts = [pair[0] for pair in limits if pair[0] is not None]
    ends = [ops.add(pair[1], 1) for pair in limits if pair[1] is not None]
    low = starts[0] if starts else whole.min
    high = ends[0] if ends else ops.add(whole.min, whole.extent)
    within = ordered(whole.min, low) and ordered(low, high) and ordered(high, ops.add(whole.min, whole.extent))
    if len(starts) > 1 or len(ends) > 1 or not within:
        return None
    first, extent = (ops.cast(axis.dtype, simplify(n)) for n in (low, ops.subtract(high, low)))
    return Range(first, extent)


def _same_range(one: Range, other: Range) -> bool:
    return all(ordered(a, b) and ordered(b, a) for a, b in ((one.min, other.min), (one.extent, other.extent)))


def _require_told(block: st.Block, store: st.BufferStore, condition: PrimExpr) -> None:
    """Refuse elements that are now padding, now data: those that a rolling buffer keeps at one place."""
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    several = {var for var, over in domains.items() if not ops.is_const(over.extent, 1)} & {*post_order(condition)}
    telling = [index for index in store.indices if not several.isdisjoint(post_order(index))]
    mentioned = {var: over for var, over in domains.items() if var in post_order(telling)}
    known = invert(telling, [tir.Var(f"p{n}", index.dtype) for n, index in enumerate(telling)], mentioned)
    if known is None or not several <= known.keys():
        raise refuse(f"block {block.name_hint} stores padding and data in one element of {store.buffer.name}")
