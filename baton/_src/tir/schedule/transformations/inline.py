"""Inlining: compute a block's value where it is read. `reverse_inline` has the other direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.iterators.iter_map import invert
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.schedule.conditions.overlap import overwritten
from baton._src.tir.schedule.tree import (
    blocks_passed,
    computes,
    find_block,
    only_store,
    path_to,
    realizes,
    refreshed,
    refuse,
    remove,
)
from baton._src.tir.schedule.views import require_own_accesses, without_views


def compute_inline(root: st.Stmt, name: str, params: set[Buffer]) -> st.Stmt:
    """Put the value of a block that stores each element once, at a one-to-one map of its axes, into the blocks that
    read it, and drop the block and its buffer.
    """
    root = without_views(root, name)
    realize = find_block(root, name)
    block = realize.block
    store = only_store(block)
    buffer = store.buffer
    if block.init is not None or any(iv.iter_type != "spatial" for iv in block.iter_vars):
        raise refuse(f"block {name} is a reduction: it cannot be inlined")
    if buffer in params:
        raise refuse(f"block {name} writes {buffer.name}, a result of the function")
    require_only_writer(root, realize, buffer)
    require_own_accesses(root, buffer)
    places = [tir.Var(f"p{n}", index.dtype) for n, index in enumerate(store.indices)]
    several = f"block {name} stores several values in one element"
    value = substitute(store.value, axes_at(block, store.indices, places, several))
    readers = [r for r in realizes(root) if any(x.buffer is buffer for x in r.block.reads)]
    _require_same_scope(root, realize, readers)
    require_unchanged(root, realize, readers, block.reads, into_readers=True)
    root = remove(root, realize)

    named = [n.var for n in post_order(value) if isinstance(n, tir.Let)]

    def rule(node: Any) -> Any:
        if isinstance(node, tir.BufferLoad) and node.buffer is buffer:
            at: dict[Any, Any] = {p: ops.cast(p.dtype, i) for p, i in zip(places, node.indices)}
            return substitute(value, {**at, **{var: var.copy() for var in named}})
        if isinstance(node, st.Block):
            kept = tuple(b for b in node.alloc_buffers if b is not buffer)
            node = node.with_fields(alloc_buffers=kept)
            return refreshed(node) if node.reads or node.writes else node
        return None

    found: st.Stmt = rewrite(root, rule)
    return found


def axes_at(
    block: st.Block, indices: Sequence[PrimExpr], places: Sequence[PrimExpr], wrong: str
) -> dict[tir.Var, PrimExpr]:
    """The values of a block's axes for which these indices of its axes are `places`.

    Error `schedule`, beginning with what is `wrong`: other values of the axes lead there, too, or how the indices come
    about is not known.
    """
    mentioned = set(post_order(indices))
    found: dict[tir.Var, PrimExpr] = {}
    for axis in block.iter_vars:
        if axis.var not in mentioned or (axis.dom is not None and ops.is_const(axis.dom.extent, 1)):
            found[axis.var] = only_value(axis, f"{wrong}, over {axis.var.name}")
    own = [axis.var for axis in block.iter_vars]
    if distinct(indices, own):
        return found | {i: place for i, place in zip(indices, places) if isinstance(i, tir.Var)}
    left = [substitute(index, found) for index in indices]
    domains = {axis.var: axis.dom for axis in block.iter_vars if axis.var not in found and axis.dom is not None}
    back = invert(left, places, domains)
    if back is None:
        raise refuse(f"{wrong}, or its indices are no map of its axes that can be inverted")
    return found | back


def only_value(axis: tir.IterVar, reason: str) -> PrimExpr:
    """The single value of an axis that the other block does not have; refused with the reason if it has more."""
    if axis.dom is None or not ops.is_const(axis.dom.extent, 1):
        raise refuse(reason)
    return axis.dom.min


def require_only_writer(root: st.Stmt, realize: st.BlockRealize, buffer: Buffer) -> None:
    """Require that no other block that computes writes the buffer."""
    for other in realizes(root):
        if other is not realize and computes(other.block) and any(w.buffer is buffer for w in other.block.writes):
            raise refuse(f"{buffer.name} is also written by {other.block.name_hint}")


def _require_same_scope(root: st.Stmt, realize: st.BlockRealize, readers: list[st.BlockRealize]) -> None:
    """Readers are in the blocks around the block: those blocks' axes, which it may use, are theirs too."""
    around = [n for n in path_to(root, realize) if isinstance(n, st.BlockRealize) and n is not realize]
    for reader in readers:
        if not set(around) <= set(path_to(root, reader)):
            name, other = realize.block.name_hint, reader.block.name_hint
            raise refuse(f"block {other} reads {name} outside of block {around[-1].block.name_hint}")


def require_unchanged(
    root: st.Stmt,
    realize: st.BlockRealize,
    to: list[st.BlockRealize],
    used: Sequence[BufferRegion],
    *,
    into_readers: bool = False,
) -> None:
    """Require that nothing between a block and the new place of its computation writes these regions."""
    for passed in blocks_passed(root, realize, to, into_readers=into_readers):
        changed = overwritten(used, realize.block, passed.block)
        if changed is not None:
            name, other = realize.block.name_hint, passed.block.name_hint
            raise refuse(f"block {name} cannot be moved past block {other}, which writes {changed.name}")


def distinct(indices: Any, axes: list[tir.Var]) -> bool:
    """Whether the indices are axes, each another."""
    return all(isinstance(i, tir.Var) and i in axes for i in indices) and len(set(indices)) == len(indices)
