"""Attention of a few queries, as of a decoder's step: keys and values are read once, where they are.

Packing them (`attention_blocks`) would take longer than what is computed of them. A tile is one query of a few heads
that share keys, by a few keys: dot products along the head, whose lanes are added up together. Powers then meet whole
rows of values. The strip of scores, softmax and the running state are those of many queries.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.attention.attention_blocks import (
    block_of_keys,
    cleared,
    for_members,
    keep,
    keys_of_block,
    shrunk,
    sum_of_products,
    write_out,
)
from baton._src.lower.kernel_schedules.attention.attention_parts import Attention, Block, Members, panels_of
from baton._src.lower.kernel_schedules.attention.attention_softmax import softmax
from baton._src.lower.kernel_schedules.products.dot_tile import added_up, zeros
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, tile_shape
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

FEW = 4
"""Most queries for which keys are not packed."""
HEADS = 4
"""Most heads of a tile: they share the vectors of keys."""
SUMS_SHARE = 2
"""A tile's partial sums take one in so many of the registers."""


def suits(found: Attention, target: Target) -> bool:
    """Whether heads are whole vectors along which queries, keys and values are contiguous."""
    lanes = tile_shape(target, found.scores.buffer.dtype).lanes
    along = ((found.query, found.inner), (found.keys, found.inner), (found.value, found.column))
    return all(axis.size and axis.size % lanes == 0 and step(load_of(x), axis) == 1 for x, axis in along)


def few_queries(found: Attention, members: Members | None, target: Target) -> st.Stmt:
    """All queries of one batch, one after the other."""
    shape, heads = tile_shape(target, found.scores.buffer.dtype), members[2] if members else 1
    row, number = index_var("row"), index_var("keys")
    block = replace(block_of_keys(found, shape, 1, heads, number), single=False)
    tiles: list[st.Stmt] = []
    for tall, begin, count in _heights(heads):
        tile = index_var("tile")
        first = ops.add(i64(begin), ops.multiply(tile, i64(tall)))
        few = _Tile(block, members, tall, ops.cast("int64", row), first)
        parts = (_scores(few), softmax(block, tall, first), _weigh(few))
        tiles.append(loop(tile, count, sequence(*parts)))
    blocks = panels_of(as_int64(found.key.extent), keys_of_block(found, shape))
    body = sequence(
        for_members(members, lambda member: cleared(block, i64(1), member)),
        loop(number, blocks, sequence(*tiles)),
        for_members(members, lambda member: write_out(block, row, i64(1), member)),
    )
    for buffer in (block.sums, block.tops, block.totals, block.shrink, block.top, block.share, block.strip):
        body = allocated(buffer, body)
    return loop(row, as_int64(found.row.extent), body)


def _heights(heads: int) -> list[tuple[int, int, int]]:
    """(heads of a tile, the first one's number, how many such tiles)"""
    tall = min(HEADS, heads)
    full, rest = divmod(heads, tall)
    return [(tall, 0, full), *([(rest, full * tall, 1)] if rest else [])]


@dataclass(frozen=True)
class _Tile:
    """One query of `heads` heads, from number `first` of a group on, and the present block of keys."""

    block: Block
    members: Members | None
    heads: int
    row: PrimExpr
    first: PrimExpr

    def of_head(self, value: PrimExpr, number: int = 0) -> PrimExpr:
        """A value for one of the heads."""
        if self.members is None:
            return value
        axis, group, size = self.members
        head = ops.add(ops.multiply(group, i64(size)), ops.add(self.first, i64(number)))
        found: PrimExpr = substitute_and_fold(value, {axis.var: ops.cast(axis.var.dtype, head)})
        return found

    def of_group(self, value: PrimExpr) -> PrimExpr:
        """A value that all heads of the group share."""
        if self.members is None:
            return value
        axis, group, size = self.members
        head = ops.cast(axis.var.dtype, ops.multiply(group, i64(size)))
        found: PrimExpr = substitute_and_fold(value, {axis.var: head})
        return found


def _scores(tile: _Tile) -> st.Stmt:
    """The strip of the tile: scores, scaled and masked; minus infinity beyond the last key."""
    block, found, lanes = tile.block, tile.block.found, tile.block.shape.lanes
    keys = 1 << max(block.shape.registers // SUMS_SHARE // tile.heads, 1).bit_length() - 1
    pairs, dtype = tile.heads * keys, block.strip.dtype
    acc = local_buffer("part", (pairs * lanes,), dtype)
    sums = local_buffer("sums", (lanes * -(-pairs // lanes),), dtype)
    group, part = index_var("group"), index_var("d")
    begin, last = ops.multiply(group, i64(keys)), ops.subtract(as_int64(found.key.extent), i64(1))
    rows = []
    for number in range(tile.heads):
        lane = index_var("v")
        value = tir.BufferLoad(sums, (ops.add(i64(number * keys), lane),))
        store = st.BufferStore(block.strip, value, (i64(number), ops.add(begin, lane)))
        rows.append(loop(lane, keys, store, VECTORIZED))
    at = [ops.min(ops.add(block.start, ops.add(begin, i64(key))), last) for key in range(keys)]
    terms = _terms(tile, acc, at, ops.multiply(part, i64(lanes)))
    products = loop(part, (found.inner.size or 1) // lanes, terms)
    steps = sequence(zeros(acc, pairs * lanes), products, added_up(lanes, pairs, acc, sums), *rows)
    every = loop(group, panels_of(block.count, keys), allocated(acc, allocated(sums, steps)))
    return sequence(every, *(_finished(tile, number) for number in range(tile.heads)))


def _terms(tile: _Tile, acc: Buffer, keys: list[PrimExpr], begin: PrimExpr) -> st.Stmt:
    """Add one vector along the head of every query times that of every key."""
    found, lanes = tile.block.found, tile.block.shape.lanes
    stores = []
    for number, key in product(range(tile.heads), range(len(keys))):
        lane = index_var("lane")
        d, slot = ops.add(begin, lane), (ops.add(i64((number * len(keys) + key) * lanes), lane),)
        query = tile.of_head(found.query_at(tile.row, d), number)
        term = tir.Mul(query, tile.of_group(found.key_at(keys[key], d)))
        stores.append(
            loop(lane, lanes, st.BufferStore(acc, tir.Add(tir.BufferLoad(acc, slot), term), slot), VECTORIZED)
        )
    return sequence(*stores)


def _finished(tile: _Tile, number: int) -> st.Stmt:
    """One row of the strip, scaled and masked; minus infinity up to the last vector."""
    block, key, over = tile.block, index_var("j"), index_var("v")
    parts = []
    if block.found.masked is not block.found.scores:
        score = block.found.score(tir.BufferLoad(block.strip, (i64(number), key)), tile.row, ops.add(block.start, key))
        store = st.BufferStore(block.strip, tile.of_head(score, number), (i64(number), key))
        parts.append(loop(key, block.count, store, VECTORIZED))
    nothing = tir.literal(float("-inf"), block.strip.dtype)
    rest = ops.subtract(ops.multiply(block.panels, i64(block.width)), block.count)
    fill = st.BufferStore(block.strip, nothing, (i64(number), ops.add(as_int64(block.count), over)))
    return sequence(*parts, loop(over, rest, fill, VECTORIZED))


def _weigh(tile: _Tile) -> st.Stmt:
    """Add powers times values to the sums of the blocks before."""
    block, found, lanes = tile.block, tile.block.found, tile.block.shape.lanes
    vectors = (found.column.size or 1) // lanes
    most = max(1, block.shape.registers // SUMS_SHARE // tile.heads)
    wide = lanes * max(n for n in range(1, min(most, vectors) + 1) if vectors % n == 0)
    panel = index_var("panel")
    begin = ops.multiply(panel, i64(wide))
    acc = Accumulators.of(tile.heads, wide, block.strip.dtype)
    sums = sum_of_products(
        block,
        acc,
        block.count,
        lambda row, k: tir.BufferLoad(block.strip, (i64(row), k)),
        lambda k, v: tile.of_group(found.value_at(ops.add(block.start, k), ops.add(begin, v))),
    )
    start = acc.each(lambda row, lane: shrunk(block, tile.first, row, begin, lane))
    body = sequence(start, sums, keep(block, tile.heads, tile.first, begin, acc))
    return loop(panel, vectors * lanes // wide, allocated(acc.buffer, body))
