"""Decompose a padding into two steps: fill with the pad value, then copy the data.

P[i] = A[i - 1] if 1 <= i < n + 1 else 0      ->      P[i] = 0 for all i; then P[i] = A[i - 1] where 1 <= i < n + 1
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.iter_map import invert
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.inline import require_only_writer
from baton._src.tir.schedule.tree import (
    find_block,
    find_loop,
    only_store,
    path_to,
    refreshed,
    refuse,
    replace,
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
    below = [item for item in path_to(loop, realize) if isinstance(item, st.For)]
    fresh: dict[Any, Any] = {i.loop_var: tir.Var(f"{i.loop_var.name}_pad", i.loop_var.dtype) for i in below}
    own: dict[Any, Any] = {iv.var: tir.Var(f"{iv.var.name}_pad", iv.var.dtype) for iv in block.iter_vars}
    label = f"{name}_pad_const"
    fill = st.BufferStore(store.buffer, constant, tuple(substitute(i, own) for i in store.indices))
    iters = [IterVar(iv.dom, own[iv.var], iv.iter_type) for iv in block.iter_vars]
    values = tuple(substitute(v, fresh) for v in realize.iter_values)
    nest: st.Stmt = st.BlockRealize(
        values, substitute(realize.predicate, fresh), refreshed(st.Block(iters, (), (), label, fill))
    )
    for item in reversed(below):
        nest = st.For(fresh[item.loop_var], item.min, item.extent, st.ForKind.SERIAL, nest)
    taken = refreshed(block.with_fields(body=st.BufferStore(store.buffer, data, store.indices)))
    bound: dict[Any, Any] = {iv.var: v for iv, v in zip(block.iter_vars, realize.iter_values)}
    moved = with_condition(realize.with_fields(block=taken), substitute(condition, bound))
    return replace(root, {loop: st.SeqStmt((nest, replace(loop, {realize: moved})))}), label


def _require_told(block: st.Block, store: st.BufferStore, condition: PrimExpr) -> None:
    """Refuse elements that are now padding, now data: those that a rolling buffer keeps at one place."""
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    several = {var for var, over in domains.items() if not ops.is_const(over.extent, 1)} & {*post_order(condition)}
    telling = [index for index in store.indices if not several.isdisjoint(post_order(index))]
    mentioned = {var: over for var, over in domains.items() if var in post_order(telling)}
    known = invert(telling, [tir.Var(f"p{n}", index.dtype) for n, index in enumerate(telling)], mentioned)
    if known is None or not several <= known.keys():
        raise refuse(f"block {block.name_hint} stores padding and data in one element of {store.buffer.name}")
