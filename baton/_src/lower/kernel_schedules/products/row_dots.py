"""Products whose factors both lie along k: tiles of dot products.

    C[i, j] = sum over k of A[i, k] * B[j, k]

A tile is a few rows of A by a few of B. Each pair has a vector of partial sums along k, so a vector of A or B that is
loaded once takes part in several multiply-adds, and nothing is packed. At the end a tree of exchanges adds up the
partial sums of all pairs together: three instructions a result instead of eight. For few columns, where a tile across
columns would be mostly empty (a B that lies (k, n) is turned first, being small), and for few rows of an (n, k) B,
which would be packed for next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.row_tiles import shared_panels
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    SERIAL,
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    sequence,
)
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

FEW_COLUMNS = 4
"""Up to this many columns."""
FEW_ROWS = 32
"""Up to this many rows of an (n, k) B, if sums are long: one row for each `WORTH_A_ROW` elements of k."""
WORTH_A_ROW = 8
"""Adding up lanes costs the more, the shorter k is; packing costs the less, the more rows use what was packed."""
PAIRS = 16
"""Vectors of partial sums of a tile."""
TALL = 4
"""Rows of a tile, where columns are many."""
SIDE = 8
"""Rows, or columns, of a tile at most."""
STREAMS = 4
"""Of a single row or column: as many chains as hide the latency of a multiply-add."""
TURNED = 1 << 15
"""Elements of a batch of (k, n) factors that are worth turning: they wait in a cache beside what is read of A."""
WORTH_TURNING = 16
"""Rows that use each of them."""
SHORT = 2
"""A sum over fewer vectors than this is not worth adding up lanes."""


def suits(matrix: Product, target: Target) -> bool:
    """Whether dot products are the way: see the module."""
    columns, rows = matrix.columns.size, matrix.row_count
    if columns is not None and columns <= FEW_COLUMNS:
        along = step(load_of(matrix.right), matrix.k) == 1 if matrix.right is not None else False
        return _adds_up(matrix, target) and (along or _turns(matrix))
    return rows is not None and 1 < rows <= most_rows(matrix, target)


def _turns(matrix: Product) -> bool:
    """Whether a B that lies (k, n), for few columns, is turned: a batch of them only where that is little work."""
    sizes = [a.size for a in (*matrix.batch, matrix.columns, matrix.k)]
    known = [size for size in sizes if size is not None]
    if not matrix.batch or len(known) < len(sizes):
        return not matrix.batch and matrix.k.size is not None
    return prod(known) <= TURNED and (matrix.row_count or 0) >= WORTH_TURNING


def most_rows(matrix: Product, target: Target) -> int:
    """The rows up to which a B along k is better read as it lies than packed; 0: none."""
    assert matrix.right is not None
    if step(load_of(matrix.right), matrix.k) != 1 or not _adds_up(matrix, target):
        return 0
    return min(FEW_ROWS, (matrix.k.size or 0) // WORTH_A_ROW)


def _adds_up(matrix: Product, target: Target) -> bool:
    """Whether rows of A lie along k, which is long enough to add up lanes at its end."""
    if step(load_of(matrix.left), matrix.k) != 1 or not matrix.has_one_row_axis or not _is_zero(matrix.stage.init):
        return False
    lanes, depth = tile_shape(target, matrix.stage.buffer.dtype).lanes, matrix.k.size
    masks = target.vector_bits >= 256
    return masks if depth is None else depth >= SHORT * lanes and (masks or depth % lanes == 0)


def _is_zero(init: PrimExpr | None) -> bool:
    return isinstance(init, (tir.IntImm, tir.FloatImm)) and init.value == 0


@dataclass(frozen=True)
class _Tile:
    """Rows by columns of dot products; `right` is the other factor, along k."""

    matrix: Product
    right: PrimExpr
    rows: int
    columns: int
    lanes: int

    @property
    def pairs(self) -> int:
        return self.rows * self.columns


def dot_tiles(matrix: Product, target: Target) -> st.Stmt:
    """The product; `suits` holds."""
    assert matrix.right is not None
    if step(load_of(matrix.right), matrix.k) == 1:
        return _tiles(matrix, matrix.right, target)
    axes = [*matrix.batch, matrix.columns, matrix.k]
    turned = local_buffer("turned", [a.extent for a in axes], matrix.stage.buffer.dtype)
    fresh = [index_var(a.var.name) for a in axes]
    turn: st.Stmt = st.BufferStore(turned, bound(matrix.right, dict(zip(axes, fresh, strict=True))), tuple(fresh))
    for axis, var in reversed(list(zip(axes, fresh, strict=True))):
        turn = loop(var, axis.extent, turn, VECTORIZED if axis is matrix.k else SERIAL)
    right = tir.BufferLoad(turned, tuple(as_int64(a.var) for a in axes))
    return allocated(turned, sequence(turn, _tiles(matrix, right, target)))


def _tiles(matrix: Product, right: PrimExpr, target: Target) -> st.Stmt:
    """Loops over tiles, shared along the longer side."""
    lanes = tile_shape(target, matrix.stage.buffer.dtype).lanes
    few = matrix.columns.size is not None and matrix.columns.size <= FEW_COLUMNS
    if few:
        across = matrix.columns.size or 1
        long, side = matrix.rows, min(SIDE, PAIRS // across) if across > 1 else STREAMS
    else:
        across = min(matrix.row_count or TALL, TALL)
        long, side = matrix.columns, min(SIDE, PAIRS // across) if across > 1 else STREAMS

    def of(count: int, begin: PrimExpr) -> st.Stmt:
        """`count` rows or columns of the long side, and all of the other."""
        if few:
            return _tile(_Tile(matrix, right, count, across, lanes), begin, i64(0))
        return _down(matrix, right, across, count, lanes, begin)

    extent = as_int64(long.extent)
    number, one = index_var("panel"), index_var("one")
    begin = ops.multiply(number, i64(side))
    panels = ops.floordiv(ops.add(extent, i64(side - 1)), i64(side))
    inside = tir.LE(ops.add(begin, i64(side)), extent)
    if long.size is None:
        rest: st.Stmt = loop(one, ops.subtract(extent, begin), of(1, ops.add(begin, one)))
        body: st.Stmt = st.IfThenElse(inside, of(side, begin), rest)
    elif long.size < side:
        body = of(long.size, i64(0))
    elif long.size % side:
        body = st.IfThenElse(inside, of(side, begin), of(long.size % side, begin))
    else:
        body = of(side, begin)
    vectors = ops.floordiv(ops.add(as_int64(matrix.k.extent), i64(lanes - 1)), i64(lanes))
    others = i64(across) if few else as_int64(matrix.rows.extent)
    work = ops.multiply(ops.multiply(vectors, i64(side)), others)
    return shared_panels(matrix, number, panels, nest(matrix.outer, body), work, target.num_cores)


def _down(matrix: Product, right: PrimExpr, tall: int, wide: int, lanes: int, start: PrimExpr) -> st.Stmt:
    """Tiles down the few rows, for the columns from `start` on."""
    every, tile = as_int64(matrix.rows.extent), index_var("tile")

    def of(rows: int, first: PrimExpr) -> st.Stmt:
        return _tile(_Tile(matrix, right, rows, wide, lanes), first, start)

    full = ops.floordiv(every, i64(tall))
    done = ops.multiply(full, i64(tall))
    parts = [loop(tile, full, of(tall, ops.multiply(tile, i64(tall))))]
    if matrix.rows.size is not None:
        rest = matrix.rows.size % tall
        return sequence(*parts, of(rest, done)) if rest else parts[0]
    for rows in range(1, tall):
        parts.append(st.IfThenElse(tir.EQ(ops.subtract(every, done), i64(rows)), of(rows, done)))
    return sequence(*parts)


def _tile(tile: _Tile, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    matrix, lanes = tile.matrix, tile.lanes
    dtype = matrix.stage.buffer.dtype
    acc = local_buffer("part", (tile.pairs * lanes,), dtype)
    sums = local_buffer("sums", (lanes * -(-tile.pairs // lanes),), dtype)
    lane = index_var("lane")
    zeros = loop(lane, tile.pairs * lanes, st.BufferStore(acc, ops.const(0, dtype), (lane,)), VECTORIZED)
    depth, block = as_int64(matrix.k.extent), index_var("k")
    full = ops.floordiv(depth, i64(lanes))
    parts = [zeros, loop(block, full, _step(tile, acc, first, start, ops.multiply(block, i64(lanes)), None))]
    if matrix.k.size is None or matrix.k.size % lanes:
        done = ops.multiply(full, i64(lanes))
        parts.append(_step(tile, acc, first, start, done, depth))
    parts += [_added_up(tile, acc, sums), _written(tile, sums, first, start)]
    return allocated(acc, allocated(sums, sequence(*parts)))


def _step(tile: _Tile, acc: Buffer, first: PrimExpr, start: PrimExpr, begin: PrimExpr, end: PrimExpr | None) -> st.Stmt:
    """Every pair takes a vector of k from `begin` on; `end`: as far as there are elements."""
    matrix, stores = tile.matrix, []
    for pair in range(tile.pairs):
        row, column = divmod(pair, tile.columns)
        lane = index_var("lane")
        k = ops.add(begin, lane)
        left = bound(matrix.left, {matrix.rows: ops.add(first, i64(row)), matrix.k: k})
        right = bound(tile.right, {matrix.columns: ops.add(start, i64(column)), matrix.k: k})
        slot = (ops.add(i64(pair * tile.lanes), lane),)
        store: st.Stmt = st.BufferStore(acc, tir.Add(tir.BufferLoad(acc, slot), tir.Mul(left, right)), slot)
        if end is not None:
            store = st.IfThenElse(tir.LT(k, end), store)
        stores.append(loop(lane, tile.lanes, store, VECTORIZED))
    return sequence(*stores)


def _added_up(tile: _Tile, acc: Buffer, sums: Buffer) -> st.Stmt:
    """sums[pair] = the lanes of the pair's vector. Two vectors become one whose lanes with a bit set belong to the
    second; after as many steps as lanes have bits, lane n belongs to pair n.
    """
    lanes = tile.lanes
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
        count = min(lanes, tile.pairs - begin)
        at = [tir.Ramp(i64((begin + n) * lanes), i64(1), lanes) for n in range(count)]
        vectors = [named(tir.BufferLoad(acc, (place,))) for place in at]
        bit = 1
        while bit < lanes:
            pairs = [(vectors[n], vectors[min(n + 1, len(vectors) - 1)]) for n in range(0, len(vectors), 2)]
            vectors = [merged(first, second, bit) for first, second in pairs]
            bit *= 2
        return st.BufferStore(sums, vectors[0], (tir.Ramp(i64(begin), i64(1), lanes),))

    body = sequence(*(whole(begin) for begin in range(0, tile.pairs, lanes)))
    for var, value in reversed(bound_to):
        body = st.LetStmt(var, value, body)
    return body


def _written(tile: _Tile, sums: Buffer, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """The results through the epilogue, in vectors along the columns, or the rows of a single column."""
    matrix, parts = tile.matrix, []
    lines, length = (1, tile.rows) if tile.columns == 1 else (tile.rows, tile.columns)
    for line in range(lines):
        lane = index_var("v")
        row = ops.add(first, lane if tile.columns == 1 else i64(line))
        column = start if tile.columns == 1 else ops.add(start, lane)
        value = tir.BufferLoad(sums, (ops.add(i64(line * length), lane),))
        store = matrix.anchored.store(value, {matrix.rows.var: row, matrix.columns.var: column})
        parts.append(loop(lane, length, store, VECTORIZED))
    return sequence(*parts)
