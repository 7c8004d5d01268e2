"""What one thread does for attention: a block of queries against all keys, `BLOCK_KEYS` at a time.

Keys are packed into panels of columns (transposed by squares of registers where they are contiguous along the head),
values into panels of their own. Then, for each tile of queries: compute scores in registers, scale and mask them, and
store them in a strip of the tile's rows; compute each row's maximum, powers and their sum; multiply powers by values in
registers. With more keys than one block, the running maximum and sum are kept, and the result so far is scaled by
exp(old maximum - new maximum).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.attention.attention_horizon import keys_seen
from baton._src.lower.kernel_schedules.attention.attention_packing import pack_keys, pack_values
from baton._src.lower.kernel_schedules.attention.attention_parts import BLOCK_KEYS, Attention, Block, Members, panels_of
from baton._src.lower.kernel_schedules.attention.attention_softmax import LOWEST, softmax
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, TileShape, tile_rows, tile_shape, unrolled_by
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    constant,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

LEAST_ROWS = 12
"""Rows of a tile that leave enough when they are halved: on CPUs with 32 registers."""


def task(
    found: Attention,
    first: PrimExpr,
    count: PrimExpr,
    rows: int,
    members: Members | None,
    target: Target,
) -> st.Stmt:
    """Queries [first, first + count), at most `rows`, of one batch; `members`: (axis of heads, number of the group,
    heads in it), where several heads share keys.
    """
    shape, number = _shape(found, target), index_var("keys")
    block = block_of_keys(found, shape, rows, members[2] if members else 1, number)
    queries = for_members(members, lambda member: _tiles(block, first, count, member))
    body = with_members(members, sequence(pack_keys(block), pack_values(block)), queries)
    if not block.single:
        last = ops.subtract(ops.add(first, count), i64(1))
        seen = keys_seen(found, first, last)
        blocks = panels_of(as_int64(found.key.extent) if seen is None else seen, keys_of_block(found, shape))
        results = for_members(members, lambda member: write_out(block, first, count, member))
        start = for_members(members, lambda member: cleared(block, count, member))
        body = sequence(start, loop(number, blocks, body), results)
        for buffer in (block.sums, block.tops, block.totals, block.shrink):
            body = allocated(buffer, body)
    for buffer in (block.top, block.share, block.strip, block.packed_keys, block.packed_values):
        body = allocated(buffer, body)
    return body


def _shape(found: Attention, target: Target) -> TileShape:
    """The usual tile, or one of as many sums that is twice as wide, which loads less (10 instead of 14 for 24
    multiply-adds), where keys and columns fill its panels.
    """
    shape = tile_shape(target, found.scores.buffer.dtype)
    wide = replace(shape, rows=shape.rows // 2, vectors=2 * shape.vectors)
    sizes = (found.key.size, found.column.size)
    even = all(size is not None and size % wide.width == 0 for size in sizes)
    return wide if even and shape.rows >= LEAST_ROWS else shape


def keys_of_block(found: Attention, shape: TileShape) -> int:
    """Keys of a block: `BLOCK_KEYS`, or all where they are fewer, in whole panels."""
    return -(-min(found.key.size or BLOCK_KEYS, BLOCK_KEYS) // shape.width) * shape.width


def block_of_keys(found: Attention, shape: TileShape, rows: int, heads: int, number: tir.Var) -> Block:
    """Block `number` of keys, for so many queries of each of `heads`."""
    size, every, dtype = found.key.size, as_int64(found.key.extent), found.scores.buffer.dtype
    single = size is not None and size <= BLOCK_KEYS
    keys, inner = keys_of_block(found, shape), found.inner.size or 1
    panels = -(-(found.column.size or 1) // shape.width)
    start: PrimExpr = i64(0) if single else ops.multiply(number, i64(keys))
    return Block(
        found,
        shape,
        rows,
        start,
        every if single else ops.min(i64(keys), ops.subtract(every, start)),
        single,
        local_buffer("packed_keys", (keys // shape.width, inner, shape.width), dtype),
        local_buffer("packed_values", (panels, keys, shape.width), dtype),
        local_buffer("strip", (shape.rows, keys), dtype),
        local_buffer("top", (shape.rows,), dtype),
        local_buffer("share", (shape.rows,), dtype),
        local_buffer("shrink", (shape.rows,), dtype),
        local_buffer("tops", (heads * rows,), dtype),
        local_buffer("totals", (heads * rows,), dtype),
        local_buffer("sums", (heads * rows, panels * shape.width), dtype),
    )


def for_members(members: Members | None, body: Callable[[PrimExpr], st.Stmt]) -> st.Stmt:
    """`body(number of the head in its group)` for every head of the group."""
    if members is None:
        return body(i64(0))
    axis, group, size = members
    member = index_var("member")
    head = ops.add(ops.multiply(group, i64(size)), member)
    return loop(member, size, st.LetStmt(axis.var, ops.cast(axis.var.dtype, head), body(member)))


def with_members(members: Members | None, pack: st.Stmt, queries: st.Stmt) -> st.Stmt:
    if members is None:
        return sequence(pack, queries)
    axis, group, size = members
    fresh = tir.Var(axis.var.name, axis.var.dtype)
    first = ops.cast(axis.var.dtype, ops.multiply(group, i64(size)))
    return sequence(st.LetStmt(fresh, first, substitute_and_fold(pack, {axis.var: fresh})), queries)


def cleared(block: Block, count: PrimExpr, member: PrimExpr) -> st.Stmt:
    """Before the first block of keys."""
    dtype = block.top.dtype
    lane, at, other = index_var("v"), index_var("i"), index_var("v")
    begin = ops.multiply(member, i64(block.rows))
    width = constant(block.sums.shape[1]) or 1
    lowest, zero = tir.literal(LOWEST[dtype], dtype), ops.const(0, dtype)
    place = (ops.add(begin, lane),)
    heads = sequence(st.BufferStore(block.tops, lowest, place), st.BufferStore(block.totals, zero, place))
    sums = loop(other, width, st.BufferStore(block.sums, zero, (ops.add(begin, at), other)), VECTORIZED)
    return sequence(loop(lane, count, heads, VECTORIZED), loop(at, count, sums))


def _tiles(block: Block, first: PrimExpr, count: PrimExpr, member: PrimExpr) -> st.Stmt:
    """Tiles of many queries, then smaller ones."""
    kept = ops.multiply(member, i64(block.rows))
    size = constant(count)
    tall = tile_rows(size, block.shape.rows)
    parts: list[st.Stmt] = []

    def tiles(rows: int, number: PrimExpr, begin: PrimExpr) -> st.Stmt:
        tile = index_var("tile")
        local = ops.add(begin, ops.multiply(tile, i64(rows)))
        return loop(tile, number, _tile(block, rows, ops.add(first, local), ops.add(kept, local)))

    if size is not None:
        whole = size // tall
        if whole:
            parts.append(tiles(tall, i64(whole), i64(0)))
        if size % tall:
            parts.append(tiles(size % tall, i64(1), i64(whole * tall)))
        return sequence(*parts)
    done: PrimExpr = i64(0)
    for rows in (tall, 4, 1):
        number = ops.floordiv(ops.subtract(count, done), i64(rows))
        parts.append(tiles(rows, number, done))
        done = ops.add(done, ops.multiply(number, i64(rows)))
    return sequence(*parts)


def _tile(block: Block, rows: int, first: PrimExpr, local: PrimExpr) -> st.Stmt:
    seen = keys_seen(block.found, first, ops.add(first, i64(rows - 1)))
    if seen is None:
        return _met(block, rows, first, local)
    # No variable: that it is at most the block's keys is seen from the expression only, and strips are masked else.
    count = ops.min(ops.subtract(seen, block.start), as_int64(block.count))
    body = _met(replace(block, count=count), rows, first, local)
    return body if block.single else st.IfThenElse(ops.greater(count, i64(0)), body)


def _met(block: Block, rows: int, first: PrimExpr, local: PrimExpr) -> st.Stmt:
    """A tile of queries meets the keys of the block."""
    return sequence(_scores(block, rows, first), softmax(block, rows, local), _weigh(block, rows, first, local))


def sum_of_products(
    block: Block,
    acc: Accumulators,
    extent: PrimExpr,
    left: Callable[[int, PrimExpr], PrimExpr],
    right: Callable[[PrimExpr, PrimExpr], PrimExpr],
) -> st.Stmt:
    """acc[r, v] += left(r, k) * right(k, v) for k in [0, extent)."""

    def terms(k: PrimExpr) -> st.Stmt:
        return acc.each(lambda row, lane: tir.Add(acc.load(row, lane), tir.Mul(left(row, k), right(k, lane))))

    return unrolled_by(block.shape.steps, extent, "k", terms)


def _scores(block: Block, rows: int, first: PrimExpr) -> st.Stmt:
    """The strip of the tile: scores, scaled and masked; minus infinity beyond the last key."""
    found, width = block.found, block.width
    acc = Accumulators.of(rows, width, block.strip.dtype)
    panel = index_var("panel")
    begin = ops.multiply(panel, i64(width))

    def query(row: int, d: PrimExpr) -> PrimExpr:
        return found.query_at(ops.add(first, i64(row)), d)

    out = _each_row(
        rows, width, lambda row, v: st.BufferStore(block.strip, acc.load(row, v), (i64(row), ops.add(begin, v)))
    )
    sums = sum_of_products(
        block, acc, i64(found.inner.size or 1), query, lambda k, v: tir.BufferLoad(block.packed_keys, (panel, k, v))
    )
    zero = ops.const(0, acc.buffer.dtype)
    tile = allocated(acc.buffer, sequence(acc.each(lambda row, lane: zero), sums, out))
    row, key, over = index_var("row"), index_var("j"), index_var("v")
    parts: list[st.Stmt] = []
    if found.masked is not found.scores:
        score = found.score(tir.BufferLoad(block.strip, (row, key)), ops.add(first, row), ops.add(block.start, key))
        parts.append(loop(key, block.count, st.BufferStore(block.strip, score, (row, key)), VECTORIZED))
    size = constant(block.count)
    if size is None or size % width:
        nothing = tir.literal(float("-inf"), block.strip.dtype)
        rest = ops.subtract(ops.multiply(block.panels, i64(width)), block.count)
        fill = st.BufferStore(block.strip, nothing, (row, ops.add(as_int64(block.count), over)))
        parts.append(loop(over, rest, fill, VECTORIZED))
    products = loop(panel, block.panels, tile)
    return sequence(products, loop(row, rows, sequence(*parts))) if parts else products


def _each_row(rows: int, width: int, store: Callable[[int, tir.Var], st.Stmt]) -> st.Stmt:
    lanes = [index_var("v") for _ in range(rows)]
    return sequence(*(loop(lane, width, store(row, lane), VECTORIZED) for row, lane in enumerate(lanes)))


def _columns(block: Block, body: Callable[[PrimExpr, PrimExpr, int], st.Stmt]) -> st.Stmt:
    """`body(number of the panel, its first column, its columns)` for every panel of values."""
    full, rest = divmod(block.found.column.size or 1, block.width)
    panel = index_var("panel")
    parts = []
    if full:
        begin = ops.multiply(panel, i64(block.width))
        parts.append(loop(panel, full, body(panel, begin, block.width)))
    if rest:
        parts.append(body(i64(full), i64(full * block.width), rest))
    return sequence(*parts)


def _weigh(block: Block, rows: int, first: PrimExpr, local: PrimExpr) -> st.Stmt:
    """Powers times values: the result where this is the only block of keys, else one more term of the sums."""

    def panel(number: PrimExpr, begin: PrimExpr, wide: int) -> st.Stmt:
        acc = Accumulators.of(rows, block.width, block.strip.dtype)
        if block.single:
            start = acc.each(lambda row, lane: ops.const(0, block.strip.dtype))
            totals = [tir.BufferLoad(block.share, (i64(row),)) for row in range(rows)]
            out = _results(block, totals, first, begin, wide, acc.load)
        else:
            start = acc.each(lambda row, lane: shrunk(block, local, row, begin, lane))
            out = keep(block, rows, local, begin, acc)
        sums = sum_of_products(
            block,
            acc,
            block.count,
            lambda row, k: tir.BufferLoad(block.strip, (i64(row), k)),
            lambda k, v: tir.BufferLoad(block.packed_values, (number, k, v)),
        )
        return allocated(acc.buffer, sequence(start, sums, out))

    return _columns(block, panel)


def shrunk(block: Block, local: PrimExpr, row: int, begin: PrimExpr, lane: PrimExpr) -> PrimExpr:
    place = (ops.add(local, i64(row)), ops.add(begin, lane))
    return tir.Mul(tir.BufferLoad(block.sums, place), tir.BufferLoad(block.shrink, (i64(row),)))


def keep(block: Block, rows: int, local: PrimExpr, begin: PrimExpr, acc: Accumulators) -> st.Stmt:
    def one(row: int, lane: tir.Var) -> st.Stmt:
        place = (ops.add(local, i64(row)), ops.add(begin, lane))
        return st.BufferStore(block.sums, acc.load(row, lane), place)

    return _each_row(rows, acc.width, one)


def _results(
    block: Block,
    totals: list[tir.BufferLoad],
    first: PrimExpr,
    begin: PrimExpr,
    wide: int,
    value: Callable[[int, PrimExpr], PrimExpr],
) -> st.Stmt:
    """Store `value(row, lane)` divided by the row's sum, for the columns from `begin` on."""
    found = block.found
    dtype = block.strip.dtype
    parts: list[st.Stmt] = []
    for row, total in enumerate(totals):
        lane, share = index_var("v"), tir.Var("share", dtype)
        done = tir.Mul(value(row, lane), share)
        store = found.store(done, ops.add(first, i64(row)), ops.add(begin, lane))
        one = ops.const(1, dtype)  # of no keys nothing is the share; total is 0, too, where all of them are masked
        inverse = tir.Div(one, total if found.key.size else tir.Select(ops.equal(found.key.extent, 0), one, total))
        parts.append(st.LetStmt(share, inverse, loop(lane, wide, store, VECTORIZED)))
    return sequence(*parts)


def write_out(block: Block, first: PrimExpr, count: PrimExpr, member: PrimExpr) -> st.Stmt:
    """The sums of all blocks, divided."""
    row = index_var("row")
    local = ops.add(ops.multiply(member, i64(block.rows)), row)
    at = ops.add(first, row)

    def panel(number: PrimExpr, begin: PrimExpr, wide: int) -> st.Stmt:
        def value(_: int, lane: PrimExpr) -> PrimExpr:
            return tir.BufferLoad(block.sums, (local, ops.add(begin, lane)))

        return _results(block, [tir.BufferLoad(block.totals, (local,))], at, begin, wide, value)

    return loop(row, count, _columns(block, panel))
