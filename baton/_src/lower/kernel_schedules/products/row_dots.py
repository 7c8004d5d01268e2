"""Products whose factors are both contiguous along k: tiles of dot products.

    C[i, j] = sum over k of A[i, k] * B[j, k]

A tile is a few rows of A by a few of B. Each pair has a vector of partial sums along k, so a vector of A or B that is
loaded once takes part in several multiply-adds, and nothing is packed. Of one or two columns (or rows) and a long
factor that no first-level cache holds, one row after the other is read instead, as one stream: caches deliver several
side by side at two thirds of that. At the end a tree of exchanges adds up the partial sums of all pairs together: three
instructions a result instead of eight. For few rows of an (n, k) B, which would be packed for next to nothing, and for
few columns (`last_columns`), where a vector across them would be mostly empty; a B that lies (k, n) is turned for these
first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.sharing import shared_panels
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.products.turned_columns import (
    turned_by_squares,
    turned_one_by_one,
    turns_by_squares,
)
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
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
    nest,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

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
STREAMS = 8
"""Of a single row or column: as many chains as hide the latency of a multiply-add."""
SHORTEST_STREAM = (64, 128)
"""Terms from which on the rows of a tile of one column, or two, are read one after the other."""
APART = 4
"""Vectors of partial sums that such a row has for each column."""
SHORTEST_LOOP = 5
"""Fewer vectors along k are written out: they, and adding up lanes, then overlap with the next tile's."""
SHORT = 2
"""A sum over fewer vectors than this is not worth adding up lanes."""


def suits(matrix: Product, target: Target) -> bool:
    """Whether the rows of an (n, k) B are so few that dot products are the way. A single row of a long B is left to
    the rule for sums, whose rows have more partial sums each.
    """
    rows = matrix.row_count
    if rows == 1 and (matrix.columns.size is None or _is_beyond(matrix, matrix.columns, 1, target)):
        return False
    return rows is not None and 1 <= rows <= most_rows(matrix, target)


def most_rows(matrix: Product, target: Target) -> int:
    """The rows up to which a B along k is better read in place than packed; 0: none."""
    assert matrix.right is not None
    lanes, depth = tile_shape(target, matrix.stage.buffer.dtype).lanes, matrix.k.size
    if step(load_of(matrix.right), matrix.k) != 1 or not adds_up(matrix, target):
        return 0
    if depth is not None and depth < SHORT * lanes:
        return 0
    return min(FEW_ROWS, (matrix.k.size or 0) // WORTH_A_ROW)


def adds_up(matrix: Product, target: Target) -> bool:
    """Whether rows of A lie along k, so that lanes can be added up at its end."""
    if step(load_of(matrix.left), matrix.k) != 1 or not matrix.has_one_row_axis or not _is_zero(matrix.stage.init):
        return False
    lanes, depth = tile_shape(target, matrix.stage.buffer.dtype).lanes, matrix.k.size
    return target.vector_bits >= 256 or (depth is not None and depth % lanes == 0)  # else there are no masks


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
    in_turn: Axis | None = None
    """The rows or columns, if they are read one after the other."""

    @property
    def pairs(self) -> int:
        return self.rows * self.columns


def dot_tiles(matrix: Product, target: Target, columns: range | None = None) -> st.Stmt:
    """The product, for which `suits` holds; or a few columns of it, of a B in either layout."""
    assert matrix.right is not None
    if columns is None or step(load_of(matrix.right), matrix.k) == 1:
        return _tiles(matrix, matrix.right, target, columns)
    extents = {a: a.extent for a in matrix.batch} | {matrix.columns: i64(len(columns)), matrix.k: matrix.k.extent}
    turned = local_buffer("turned", list(extents.values()), matrix.stage.buffer.dtype)
    lanes = tile_shape(target, turned.dtype).lanes
    by_squares = turns_by_squares(matrix, len(columns), lanes)
    turn = (
        turned_by_squares(matrix, turned, columns, lanes) if by_squares else turned_one_by_one(matrix, turned, columns)
    )
    indices = {a: as_int64(a.var) for a in extents}
    indices[matrix.columns] = ops.subtract(indices[matrix.columns], i64(columns.start))
    right = tir.BufferLoad(turned, tuple(indices.values()))
    return allocated(turned, sequence(turn, _tiles(matrix, right, target, columns)))


def _tiles(matrix: Product, right: PrimExpr, target: Target, columns: range | None) -> st.Stmt:
    """Loops over tiles, shared along the longer side: rows, of so few `columns`, or columns."""
    lanes = tile_shape(target, matrix.stage.buffer.dtype).lanes
    long = matrix.rows if columns is not None else matrix.columns
    across = len(columns) if columns is not None else min(matrix.row_count or TALL, TALL)
    in_turn = long if across <= len(SHORTEST_STREAM) and _is_beyond(matrix, long, across, target) else None
    side = PAIRS // across if in_turn else min(SIDE, PAIRS // across) if across > 1 else STREAMS

    def of(count: int, begin: PrimExpr) -> st.Stmt:
        """`count` rows or columns of the long side, and all of the other."""
        if columns is not None:
            return _tile(_Tile(matrix, right, count, across, lanes, in_turn), begin, i64(columns.start))
        return _down(_Tile(matrix, right, across, count, lanes, in_turn), begin)

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
    others = i64(across) if columns is not None else as_int64(matrix.rows.extent)
    work = ops.multiply(ops.multiply(vectors, i64(side)), others)
    return shared_panels(matrix, number, panels, nest(matrix.outer, body), work, target.num_cores)


def _is_beyond(matrix: Product, long: Axis, across: int, target: Target) -> bool:
    """Whether the factor along `long` is larger than the first-level cache, and its rows long enough to be a stream."""
    if long.size is None or matrix.k.size is None:
        return False
    size = long.size * matrix.k.size * matrix.stage.buffer.dtype.itemsize
    return size > 2 * target.cpu.l1_bytes and matrix.k.size >= SHORTEST_STREAM[across - 1]


def _down(tallest: _Tile, start: PrimExpr) -> st.Stmt:
    """Tiles down the few rows, for the columns from `start` on."""
    matrix, tall = tallest.matrix, tallest.rows
    every, tile = as_int64(matrix.rows.extent), index_var("tile")

    def of(rows: int, first: PrimExpr) -> st.Stmt:
        return _tile(replace(tallest, rows=rows), first, start)

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
    found = _in_turn(tile, acc, first, start) if tile.in_turn else _side_by_side(tile, acc, first, start)
    parts = (found, _added_up(tile, acc, sums), _written(tile, sums, first, start))
    return allocated(acc, allocated(sums, sequence(*parts)))


def _side_by_side(tile: _Tile, acc: Buffer, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """The partial sums of all pairs."""
    matrix, lanes = tile.matrix, tile.lanes
    depth, block = as_int64(matrix.k.extent), index_var("k")
    full = ops.floordiv(depth, i64(lanes))
    kind = UNROLLED if (constant(full) or SHORTEST_LOOP) < SHORTEST_LOOP else SERIAL
    terms = _step(tile, acc, first, start, ops.multiply(block, i64(lanes)), None)
    parts = [_zeros(acc, tile.pairs * lanes), loop(block, full, terms, kind)]
    if matrix.k.size is None or matrix.k.size % lanes:
        done = ops.multiply(full, i64(lanes))
        parts.append(_step(tile, acc, first, start, done, depth))
    return sequence(*parts)


def _in_turn(tile: _Tile, acc: Buffer, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """The partial sums of one row, or column, after the other: every APART-th vector of k has sums of its own."""
    lanes, depth = tile.lanes, tile.matrix.k.size or 0
    down, at = tile.in_turn is tile.matrix.rows, index_var("at")
    one = replace(tile, rows=1) if down else replace(tile, columns=1)
    here = (ops.add(first, at), start) if down else (first, ops.add(start, at))
    apart = local_buffer("apart", (APART * one.pairs * lanes,), acc.dtype)
    block, (full, rest) = index_var("k"), divmod(depth // lanes, APART)

    def terms(begin: PrimExpr, count: int) -> list[st.Stmt]:
        return [_step(one, apart, *here, ops.add(begin, i64(n * lanes)), None, n) for n in range(count)]

    parts = [_zeros(apart, APART * one.pairs * lanes)]
    parts.append(loop(block, full, sequence(*terms(ops.multiply(block, i64(APART * lanes)), APART))))
    parts += terms(i64(full * APART * lanes), rest)
    if depth % lanes:
        parts.append(_step(one, apart, *here, i64(depth // lanes * lanes), i64(depth), rest))
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


def _zeros(buffer: Buffer, count: int) -> st.Stmt:
    lane = index_var("lane")
    return loop(lane, count, st.BufferStore(buffer, ops.const(0, buffer.dtype), (lane,)), VECTORIZED)


def _step(
    tile: _Tile,
    acc: Buffer,
    first: PrimExpr,
    start: PrimExpr,
    begin: PrimExpr,
    end: PrimExpr | None,
    part: int = 0,
) -> st.Stmt:
    """Every pair takes a vector of k from `begin` on; `end`: as far as there are elements. They go to the sums of all
    pairs that are number `part` of `acc`.
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
