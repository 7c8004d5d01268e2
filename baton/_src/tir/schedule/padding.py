"""Decompose a padding into two steps: fill with the pad value, then copy the data.

P[i] = A[i - 1] if 1 <= i < n + 1 else 0      ->      P[i] = 0 for all i; then P[i] = A[i - 1] where 1 <= i < n + 1
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.expr import IterVar
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


def decompose_padding(root: st.Stmt, name: str, var: tir.Var) -> tuple[st.Stmt, str]:
    """Store the pad value in a block `<name>_pad_const` before the loop over `var`; the block then copies only data."""
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
