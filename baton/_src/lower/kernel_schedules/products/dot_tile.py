"""A tile of dot products of two factors along k: vectors of partial sums, and the tree that adds up their lanes.

Each pair of a row and a column has a vector of partial sums, so a vector of a factor that is loaded once takes part in
several multiply-adds. At the end a tree of shuffles adds up the partial sums of all pairs together: three instructions
a result instead of eight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.shared.factors import bound
from baton._src.lower.kernel_schedules.shared.loops import (
    SERIAL,
    UNROLLED,
    VECTORIZED,
    allocated,
    constant,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

APART = 4
"""Vectors of partial sums for each column, when rows are read one after the other."""
SHORTEST_LOOP = 5
"""Below this many vectors along k the loop is unrolled: it and the lane sums then overlap with those of the next tile.
"""


@dataclass(frozen=True)
class DotTile:
    """Rows by columns of dot products; `right` is the other factor, along k."""

    matrix: Product
    right: PrimExpr
    rows: int
    columns: int
    lanes: int
    in_turn: Axis | None = None
    """Whether the rows (or columns) are read one after the other."""
    end: PrimExpr | None = None
    """Columns from here on, if it is given, are computed but not stored."""

    @property
    def pairs(self) -> int:
        return self.rows * self.columns


def down(matrix: Product, tall: int, make: Callable[[int, PrimExpr], st.Stmt]) -> st.Stmt:
    """Loop over the few rows in tiles of `tall` rows and one tile for the remainder: `make(rows, first)`."""
    every, tile = as_int64(matrix.rows.extent), index_var("tile")
    full = ops.floordiv(every, i64(tall))
    done = ops.multiply(full, i64(tall))
    parts = [loop(tile, full, make(tall, ops.multiply(tile, i64(tall))))]
    if matrix.rows.size is not None:
        rest = matrix.rows.size % tall
        return sequence(*parts, make(rest, done)) if rest else parts[0]
    for rows in range(1, tall):
        parts.append(st.IfThenElse(tir.EQ(ops.subtract(every, done), i64(rows)), make(rows, done)))
    return sequence(*parts)


def dot_tile(tile: DotTile, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """The unrolled tile at a given row and column."""
    matrix, lanes = tile.matrix, tile.lanes
    dtype = matrix.stage.buffer.dtype
    acc = local_buffer("part", (tile.pairs * lanes,), dtype)
    sums = local_buffer("sums", (lanes * -(-tile.pairs // lanes),), dtype)
    found = _in_turn(tile, acc, first, start) if tile.in_turn else _side_by_side(tile, acc, first, start)
    parts = (found, added_up(lanes, tile.pairs, acc, sums), written(tile, sums, first, start))
    return allocated(acc, allocated(sums, sequence(*parts)))


def _side_by_side(tile: DotTile, acc: Buffer, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """Accumulate the partial sums of all pairs together."""
    matrix, lanes = tile.matrix, tile.lanes
    depth, block = as_int64(matrix.k.extent), index_var("k")
    full = ops.floordiv(depth, i64(lanes))
    kind = UNROLLED if (constant(full) or SHORTEST_LOOP) < SHORTEST_LOOP else SERIAL
    terms = add_terms(tile, acc, first, start, ops.multiply(block, i64(lanes)), None)
    parts = [zeros(acc, tile.pairs * lanes), loop(block, full, terms, kind)]
    if matrix.k.size is None or matrix.k.size % lanes:
        done = ops.multiply(full, i64(lanes))
        parts.append(add_terms(tile, acc, first, start, done, depth))
    return sequence(*parts)


def _in_turn(tile: DotTile, acc: Buffer, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """Accumulate one row (or column) after the other: every APART-th vector of k has its own sums."""
    lanes, depth = tile.lanes, tile.matrix.k.size or 0
    down, at = tile.in_turn is tile.matrix.rows, index_var("at")
    one = replace(tile, rows=1) if down else replace(tile, columns=1)
    here = (ops.add(first, at), start) if down else (first, ops.add(start, at))
    apart = local_buffer("apart", (APART * one.pairs * lanes,), acc.dtype)
    block, (full, rest) = index_var("k"), divmod(depth // lanes, APART)

    def terms(begin: PrimExpr, count: int) -> list[st.Stmt]:
        return [add_terms(one, apart, *here, ops.add(begin, i64(n * lanes)), None, n) for n in range(count)]

    parts = [zeros(apart, APART * one.pairs * lanes)]
    parts.append(loop(block, full, sequence(*terms(ops.multiply(block, i64(APART * lanes)), APART))))
    parts += terms(i64(full * APART * lanes), rest)
    if depth % lanes:
        parts.append(add_terms(one, apart, *here, i64(depth // lanes * lanes), i64(depth), rest))
    for pair in range(one.pairs):
        lane = index_var("lane")
        sums = [tir.BufferLoad(apart, (ops.add(i64((n * one.pairs + pair) * lanes), lane),)) for n in range(APART)]
        place = (
            ops.add(ops.multiply(at, i64(tile.columns)), i64(pair)) if down else ops.add(i64(pair * tile.columns), at)
        )
        total = tir.Add(tir.Add(sums[0], sums[1]), tir.Add(sums[2], sums[3]))
        store = st.BufferStore(acc, total, (ops.add(ops.multiply(place, i64(lanes)), lane),))
        parts.append(loop(lane, lanes, store, VECTORIZED))
    return loop(at, tile.rows if down else tile.columns, allocated(apart, sequence(*parts)))


def zeros(buffer: Buffer, count: int) -> st.Stmt:
    """`count` elements set to 0."""
    lane = index_var("lane")
    return loop(lane, count, st.BufferStore(buffer, ops.const(0, buffer.dtype), (lane,)), VECTORIZED)


def add_terms(
    tile: DotTile,
    acc: Buffer,
    first: PrimExpr,
    start: PrimExpr,
    begin: PrimExpr,
    end: PrimExpr | None,
    part: int = 0,
) -> st.Stmt:
    """Add the products of one vector of k from `begin` on to every pair's sums in part `part` of `acc`; with `end`,
    elements from there on are masked out.
    """
    matrix, stores = tile.matrix, []
    for pair in range(tile.pairs):
        row, column = divmod(pair, tile.columns)
        lane = index_var("lane")
        k = ops.add(begin, lane)
        left = bound(matrix.left, {matrix.rows: ops.add(first, i64(row)), matrix.k: k})
        right = bound(tile.right, {matrix.columns: ops.add(start, i64(column)), matrix.k: k})
        slot = (ops.add(i64((part * tile.pairs + pair) * tile.lanes), lane),)
        store: st.Stmt = st.BufferStore(acc, tir.Add(tir.BufferLoad(acc, slot), tir.Mul(left, right)), slot)
        if end is not None:
            store = st.IfThenElse(tir.LT(k, end), store)
        stores.append(loop(lane, tile.lanes, store, VECTORIZED))
    return sequence(*stores)


def added_up(lanes: int, pairs: int, acc: Buffer, sums: Buffer) -> st.Stmt:
    """sums[pair] = the sum of the lanes of the pair's vector. Two vectors become one whose lanes with a bit set belong
    to the second; after log2(lanes) steps, lane n belongs to pair n.
    """
    bound_to: list[tuple[tir.Var, PrimExpr]] = []

    def named(value: PrimExpr) -> tir.Var:
        bound_to.append((tir.Var(f"s{len(bound_to)}", value.dtype), value))
        return bound_to[-1][0]

    def merged(first: tir.Var, second: tir.Var, bit: int) -> tir.Var:
        lower = [p if not p & bit else lanes + p - bit for p in range(lanes)]
        upper = [p + bit if not p & bit else lanes + p for p in range(lanes)]
        exchanged = [named(tir.Shuffle((first, second), tuple(order))) for order in (lower, upper)]
        return named(tir.Add(*exchanged))

    def whole(begin: int) -> st.Stmt:
        count = min(lanes, pairs - begin)
        at = [tir.Ramp(i64((begin + n) * lanes), i64(1), lanes) for n in range(count)]
        vectors = [named(tir.BufferLoad(acc, (place,))) for place in at]
        bit = 1
        while bit < lanes:
            two = [(vectors[n], vectors[min(n + 1, len(vectors) - 1)]) for n in range(0, len(vectors), 2)]
            vectors = [merged(first, second, bit) for first, second in two]
            bit *= 2
        return st.BufferStore(sums, vectors[0], (tir.Ramp(i64(begin), i64(1), lanes),))

    body = sequence(*(whole(begin) for begin in range(0, pairs, lanes)))
    for var, value in reversed(bound_to):
        body = st.LetStmt(var, value, body)
    return body


def written(tile: DotTile, sums: Buffer, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """Store the results through the epilogue, in vectors along the columns (or along the rows of a single column)."""
    matrix, parts = tile.matrix, []
    lines, length = (1, tile.rows) if tile.columns == 1 else (tile.rows, tile.columns)
    for line in range(lines):
        lane = index_var("v")
        row = ops.add(first, lane if tile.columns == 1 else i64(line))
        column = start if tile.columns == 1 else ops.add(start, lane)
        value = tir.BufferLoad(sums, (ops.add(i64(line * length), lane),))
        store = matrix.anchored.store(value, {matrix.rows.var: row, matrix.columns.var: column})
        if tile.end is not None:
            store = st.IfThenElse(tir.LT(column, tile.end), store)
        parts.append(loop(lane, length, store, VECTORIZED))
    return sequence(*parts)
