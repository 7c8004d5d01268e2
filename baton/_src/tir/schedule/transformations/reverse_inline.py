"""Reverse inlining: move a consumer's computation to the producer of the value it reads."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.same_value import same_values
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.buffer import Buffer
from baton._src.tir.schedule.conditions.coverage import require_whole
from baton._src.tir.schedule.conditions.stored_ranges import domain, ends, ordered, require_within, stored
from baton._src.tir.schedule.transformations.inline import axes_at, distinct, require_only_writer, require_unchanged
from baton._src.tir.schedule.tree import (
    blocks_passed,
    find_block,
    only_store,
    realizes,
    refreshed,
    refuse,
    remove,
    replace,
    simplify,
    with_condition,
)
from baton._src.tir.schedule.views import require_own_accesses, without_views
from baton._src.tir.text.printer import node_text


def reverse_compute_inline(root: st.Stmt, name: str, params: set[Buffer]) -> st.Stmt:
    """Let the producer of a value, which keeps its name, apply the computation of block `name`, element by element. The
    block reads the value at its own axes, or at a one-to-one map of them that covers all that the producer stores.
    """
    root = without_views(root, name)
    realize = find_block(root, name)
    consumer, store = realize.block, only_store(realize.block)
    if consumer.init is not None or any(iv.iter_type != "spatial" for iv in consumer.iter_vars):
        raise refuse(f"block {name} is a reduction: it cannot be inlined")
    producer = _producer(root, realize, params)
    made = only_store(producer.block)
    read = _read(root, realize, made.buffer)
    used = [r for r in consumer.reads if r.buffer is not made.buffer]
    require_unchanged(root, realize, [producer], [*used, *consumer.writes])
    _require_unread(root, realize, producer)
    for item in (producer, realize):
        require_whole(root, item, item.block.iter_vars)
    lacks = f"block {name} makes several elements of one"
    places = [ops.cast(index.dtype, place) for index, place in zip(read, made.indices)]
    bound = axes_at(consumer, read, places, lacks)
    if distinct(read, [iv.var for iv in consumer.iter_vars]):
        own = {axis.var: axis for axis in consumer.iter_vars}
        found = _within(producer, made, [own[i] for i in read if isinstance(i, tir.Var)], name)
    else:
        found = producer
        _require_same(producer, made, consumer, read)
        bound = {var: simplify(value, _domains(producer.block)) for var, value in bound.items()}

    def take(node: Node) -> Any:
        return made.value if isinstance(node, tir.BufferLoad) and node.buffer is made.buffer else None

    value = rewrite(substitute(store.value, bound), take)
    body = st.BufferStore(store.buffer, value, tuple(substitute(i, bound) for i in store.indices))
    block = refreshed(found.block.with_fields(body=body))
    root = remove(root, realize)
    root = replace(root, {find_block(root, producer.block.name_hint): found.with_fields(block=block)})
    return _without_buffer(root, made.buffer)


def _producer(root: st.Stmt, realize: st.BlockRealize, params: set[Buffer]) -> st.BlockRealize:
    """The single block that computes what the consumer reads, element by element."""
    name, reads = realize.block.name_hint, {r.buffer for r in realize.block.reads}
    writers = {r.block.body.buffer: r for r in realizes(root) if isinstance(r.block.body, st.BufferStore)}
    sources = [w for b, w in writers.items() if w is not realize and b in reads]
    if len(sources) != 1:
        raise refuse(f"block {name} reads the results of {len(sources)} blocks, not of one")
    block, buffer = sources[0].block, only_store(sources[0].block).buffer
    if block.init is not None or any(iv.iter_type != "spatial" for iv in block.iter_vars):
        raise refuse(f"block {block.name_hint} is a reduction: its sums are not finished in the block")
    require_only_writer(root, sources[0], buffer)
    if buffer in params:
        raise refuse(f"{buffer.name} is a result of the function")
    require_own_accesses(root, buffer)
    return sources[0]


def _read(root: st.Stmt, realize: st.BlockRealize, buffer: Buffer) -> tuple[PrimExpr, ...]:
    """The place at which the block, and no other, reads the buffer."""
    name = realize.block.name_hint
    value = only_store(realize.block).value
    reads = [n.indices for n in post_order(value) if isinstance(n, tir.BufferLoad) and n.buffer is buffer]
    if not reads or any(isinstance(n, tir.BufferLoad) for indices in reads for n in post_order(indices)):
        raise refuse(f"block {name} does not read {buffer.name} at a map of its own axes")
    if any(not same_values(indices, reads[0]) for indices in reads):
        raise refuse(f"block {name} reads {buffer.name} at several places: they are made one after the other")
    others = [r for r in realizes(root) if r is not realize and any(x.buffer is buffer for x in r.block.reads)]
    if others:
        raise refuse(f"{buffer.name} has other readers: {others[0].block.name_hint}")
    return reads[0]


def _domains(block: st.Block) -> dict[tir.Var, Range]:
    return {axis.var: domain(axis) for axis in block.iter_vars}


def _require_same(
    producer: st.BlockRealize, made: st.BufferStore, consumer: st.Block, read: tuple[PrimExpr, ...]
) -> None:
    """Require that a block reads exactly what its producer stores, over all values of their axes."""
    for index, whole in zip(read, stored(producer.block, made)):
        span = eval_set(index, _domains(consumer))
        (low, high), name = ends(whole), consumer.name_hint
        if span.min is None or span.max is None:
            raise refuse(f"how far block {name} reads {made.buffer.name} is not known")
        start, end = span.min, ops.add(span.max, 1)
        if not (_equal(start, low) and _equal(end, high)):
            raise refuse(
                f"block {name} reads {made.buffer.name} from {node_text(start)} to {node_text(end)}, but block"
                f" {producer.block.name_hint} stores from {node_text(low)} to {node_text(high)}"
            )


def _equal(one: PrimExpr, other: PrimExpr) -> bool:
    return ordered(one, other) and ordered(other, one)


def _within(producer: st.BlockRealize, made: st.BufferStore, axes: list[tir.IterVar], name: str) -> st.BlockRealize:
    """The producer, restricted to what the consumer's axes cover: that must be part of what it computes."""
    block = producer.block
    values = {axis.var: value for axis, value in zip(block.iter_vars, producer.iter_values)}
    narrowed: dict[PrimExpr, Range] = {}
    for index, axis, whole in zip(made.indices, axes, stored(block, made)):
        require_within(axis, name, whole, block)
        (low, high), (start, end) = ends(whole), ends(domain(axis))
        if ordered(high, end) and ordered(start, low):
            continue
        at, first, behind = (ops.cast(index.dtype, n) for n in (substitute(index, values), start, end))
        if not ordered(high, end):
            producer = with_condition(producer, tir.LT(at, behind))
        if not ordered(start, low):
            producer = with_condition(producer, tir.GE(at, first))
        narrowed[index] = Range(first, Analyzer().simplify(ops.subtract(behind, first)))
    own = [axis.with_fields(dom=narrowed.get(axis.var, axis.dom)) for axis in block.iter_vars]
    return producer.with_fields(block=block.with_fields(iter_vars=tuple(own)))


def _require_unread(root: st.Stmt, realize: st.BlockRealize, producer: st.BlockRealize) -> None:
    """Require that nothing between a block and its producer reads the buffer before the block runs."""
    written = {w.buffer for w in realize.block.writes}
    for passed in blocks_passed(root, realize, [producer]):
        if passed is not producer and any(r.buffer in written for r in passed.block.reads):
            name, other = realize.block.name_hint, passed.block.name_hint
            raise refuse(f"block {name} cannot be moved past block {other}, which reads what it writes")


def _without_buffer(root: st.Stmt, buffer: Buffer) -> st.Stmt:
    def rule(node: Node) -> Node | None:
        if isinstance(node, st.Block) and buffer in node.alloc_buffers:
            return node.with_fields(alloc_buffers=tuple(b for b in node.alloc_buffers if b is not buffer))
        return None

    found: st.Stmt = rewrite(root, rule)
    return found
