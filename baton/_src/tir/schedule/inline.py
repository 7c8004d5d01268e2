"""Inlining: a block's value computed where it is read, or a reader's computation moved to where the value is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import rewrite, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.schedule.overlap import overwritten
from baton._src.tir.schedule.tree import (
    blocks_passed,
    find_block,
    only_store,
    path_to,
    realizes,
    refreshed,
    refuse,
    remove,
    replace,
)


def compute_inline(root: st.Stmt, name: str, params: set[Buffer]) -> st.Stmt:
    """Put the value of an elementwise block into the blocks that read it, and drop the block and its buffer."""
    realize = find_block(root, name)
    block = realize.block
    store = only_store(block)
    buffer = store.buffer
    if block.init is not None or any(iv.iter_type != "spatial" for iv in block.iter_vars):
        raise refuse(f"block {name} is a reduction: it cannot be inlined")
    if buffer in params:
        raise refuse(f"block {name} writes {buffer.name}, a result of the function")
    _require_only_writer(root, realize, buffer)
    axes = [iv.var for iv in block.iter_vars]
    if not _distinct(store.indices, axes):
        raise refuse(f"block {name} does not store at its own axes")
    readers = [r for r in realizes(root) if any(x.buffer is buffer for x in r.block.reads)]
    _require_same_scope(root, realize, readers)
    _require_unchanged(root, realize, readers, block.reads)
    root = remove(root, realize)

    def rule(node: Any) -> Any:
        if isinstance(node, tir.BufferLoad) and node.buffer is buffer:
            return substitute(store.value, dict(zip(store.indices, node.indices)))
        if isinstance(node, st.Block):
            kept = tuple(b for b in node.alloc_buffers if b is not buffer)
            node = node.with_fields(alloc_buffers=kept)
            return refreshed(node) if node.iter_vars else node
        return None

    found: st.Stmt = rewrite(root, rule)
    return found


def reverse_compute_inline(root: st.Stmt, name: str, params: set[Buffer]) -> st.Stmt:
    """Let the block that makes a value apply what block `name` does to it, element by element."""
    realize = find_block(root, name)
    consumer = realize.block
    store = only_store(consumer)
    if consumer.init is not None or any(iv.iter_type != "spatial" for iv in consumer.iter_vars):
        raise refuse(f"block {name} is a reduction: it cannot be inlined")
    writers = {r.block.body.buffer: r for r in realizes(root) if isinstance(r.block.body, st.BufferStore)}
    axes = [iv.var for iv in consumer.iter_vars]
    sources = [w for b, w in writers.items() if w is not realize and any(r.buffer is b for r in consumer.reads)]
    if len(sources) != 1:
        raise refuse(f"block {name} reads the results of {len(sources)} blocks, not of one")
    producer = sources[0]
    made = only_store(producer.block)
    if producer.block.init is not None or any(iv.iter_type != "spatial" for iv in producer.block.iter_vars):
        raise refuse(f"block {producer.block.name_hint} is a reduction: its sums are not finished in the block")
    _require_only_writer(root, producer, made.buffer)
    if made.buffer in params:
        raise refuse(f"{made.buffer.name} is a result of the function")
    reads = [n for n in _loads(store.value) if n.buffer is made.buffer]
    if not reads or any(not _distinct(n.indices, axes) for n in reads):
        raise refuse(f"block {name} does not read {made.buffer.name} at its own axes")
    others = [r for r in realizes(root) if r is not realize and any(x.buffer is made.buffer for x in r.block.reads)]
    if others:
        raise refuse(f"{made.buffer.name} has other readers: {others[0].block.name_hint}")
    used = [r for r in consumer.reads if r.buffer is not made.buffer]
    _require_unchanged(root, realize, [producer], [*used, *consumer.writes])
    _require_unread(root, realize, producer)
    bound = dict(zip(reads[0].indices, made.indices))
    for axis in consumer.iter_vars:
        if axis.var not in bound:
            bound[axis.var] = _only_value(axis, producer.block.name_hint)

    def take(node: Any) -> Any:
        return made.value if isinstance(node, tir.BufferLoad) and node.buffer is made.buffer else None

    value = rewrite(substitute(store.value, bound), take)
    indices = tuple(substitute(i, bound) for i in store.indices)
    body = st.BufferStore(store.buffer, value, indices)
    new = refreshed(producer.block.with_fields(body=body, name_hint=consumer.name_hint))
    root = remove(root, realize)
    root = replace(root, {find_block(root, producer.block.name_hint): producer.with_fields(block=new)})
    return _without_buffer(root, made.buffer)


def _only_value(axis: tir.IterVar, producer: str) -> PrimExpr:
    """Where an axis is that the block's source knows nothing of."""
    if axis.dom is None or not ops.is_const(axis.dom.extent, 1):
        raise refuse(f"block {producer} has no axis like {axis.var.name}: it would make one element of many")
    return axis.dom.min


def _without_buffer(root: st.Stmt, buffer: Buffer) -> st.Stmt:
    def rule(node: Any) -> Any:
        if isinstance(node, st.Block) and buffer in node.alloc_buffers:
            return node.with_fields(alloc_buffers=tuple(b for b in node.alloc_buffers if b is not buffer))
        return None

    found: st.Stmt = rewrite(root, rule)
    return found


def _require_only_writer(root: st.Stmt, realize: st.BlockRealize, buffer: Buffer) -> None:
    for other in realizes(root):
        if other is not realize and other.block.iter_vars and any(w.buffer is buffer for w in other.block.writes):
            raise refuse(f"{buffer.name} is also written by {other.block.name_hint}")


def _require_same_scope(root: st.Stmt, realize: st.BlockRealize, readers: list[st.BlockRealize]) -> None:
    """Readers are in the blocks around the block: those blocks' axes, which it may use, are theirs too."""
    around = [n for n in path_to(root, realize) if isinstance(n, st.BlockRealize) and n is not realize]
    for reader in readers:
        if not set(around) <= set(path_to(root, reader)):
            name, other = realize.block.name_hint, reader.block.name_hint
            raise refuse(f"block {other} reads {name} outside of block {around[-1].block.name_hint}")


def _require_unchanged(
    root: st.Stmt, realize: st.BlockRealize, to: list[st.BlockRealize], used: Sequence[BufferRegion]
) -> None:
    """Nothing between a block and where its computation goes writes these regions."""
    for passed in blocks_passed(root, realize, to):
        changed = overwritten(used, realize.block, passed.block)
        if changed is not None:
            name, other = realize.block.name_hint, passed.block.name_hint
            raise refuse(f"block {name} cannot be moved past block {other}, which writes {changed.name}")


def _require_unread(root: st.Stmt, realize: st.BlockRealize, producer: st.BlockRealize) -> None:
    """Nothing between a block and its producer reads what is there before the block runs."""
    written = {w.buffer for w in realize.block.writes}
    for passed in blocks_passed(root, realize, [producer]):
        if passed is not producer and any(r.buffer in written for r in passed.block.reads):
            name, other = realize.block.name_hint, passed.block.name_hint
            raise refuse(f"block {name} cannot be moved past block {other}, which reads what it writes")


def _distinct(indices: Any, axes: list[tir.Var]) -> bool:
    return all(isinstance(i, tir.Var) and i in axes for i in indices) and len(set(indices)) == len(indices)


def _loads(expr: Any) -> list[tir.BufferLoad]:
    found: list[tir.BufferLoad] = []

    def rule(node: Any) -> Any:
        if isinstance(node, tir.BufferLoad):
            found.append(node)

    rewrite(expr, rule)
    return found
