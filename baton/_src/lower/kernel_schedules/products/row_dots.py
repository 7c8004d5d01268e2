"""Products whose factors are both contiguous along k: tiles of dot products.

    C[i, j] = sum over k of A[i, k] * B[j, k]

A tile is a few rows of A by a few rows of B. Each pair has a vector of partial sums along k, so each vector of A or B
is loaded once for several multiply-adds, and nothing is packed. With one or two columns (or rows) and a long factor
that does not fit in L1, that factor is read row by row instead, as one stream, while the others stay in L1: several
streams at once reach only two thirds of the cache's bandwidth. At the end a tree of shuffles adds up the partial sums
of all pairs together: three instructions per result instead of eight. Used for few rows with an (n, k) B, where packing
would not pay, and for few columns (`last_columns`), where vectors across them would be mostly empty; a (k, n) B is
transposed for these first.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products import blocked_dots
from baton._src.lower.kernel_schedules.products.dot_tile import DotTile, dot_tile, down
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.sharing import shared_panels
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.products.transposed_columns import (
    transposed_by_squares,
    transposed_one_by_one,
    transposes_by_squares,
)
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

FEW_ROWS = 32
"""Most rows with an (n, k) B, if sums are long: one row for each `WORTH_A_ROW` elements of k."""
WORTH_A_ROW = 8
"""Elements of k per row: the shorter k, the more adding up lanes costs; the more rows, the less packing costs per
row.
"""
PAIRS_SHARE = 2
"""A tile's partial sums take one in so many of the registers: with more, no room is left for factors."""
TALL = 4
"""Rows of a tile when columns are many."""
SIDE = 8
"""Most rows, or columns, of a tile."""
STREAMS = 8
"""Accumulators of a single row or column: enough to hide the latency of a multiply-add."""
SHORTEST_STREAM = (64, 128)
"""Least number of terms for which the rows of a tile of one or two columns are read one after the other."""
OTHERS_SHARE = 2
"""One or two columns that take more than one in so many of L1's bytes do not stay there while a row streams by: they
would be loaded from L2 for each row (8192x2x8192 20.8 ms, four rows at once 10.4; 1024x1x16384 2.8 and 1.8 ms).
"""
SHORT = 2
"""Sums over fewer vectors than this are not worth adding up lanes for."""


def suits(matrix: Product, target: Target) -> bool:
    """Whether the rows of a product with an (n, k) B are few enough for dot products. A single row of a long B is left
    to the rule for reductions, which has more partial sums per row.
    """
    rows = matrix.row_count
    if rows == 1 and (matrix.columns.size is None or _reads_in_turn(matrix, matrix.columns, 1, target)):
        return False
    return rows is not None and 1 <= rows <= most_rows(matrix, target)


def most_rows(matrix: Product, target: Target) -> int:
    """Most rows for which a B contiguous along k is better read in place than packed; 0 if none."""
    assert matrix.right is not None
    lanes, depth = tile_shape(target, matrix.stage.buffer.dtype).lanes, matrix.k.size
    if step(load_of(matrix.right), matrix.k) != 1 or not adds_up(matrix, target):
        return 0
    if depth is not None and depth < SHORT * lanes:
        return 0
    return min(FEW_ROWS, (matrix.k.size or 0) // WORTH_A_ROW)


def adds_up(matrix: Product, target: Target) -> bool:
    """Whether A is contiguous along k, so that partial sums can be vectors along k whose lanes are added up at the
    end.
    """
    if step(load_of(matrix.left), matrix.k) != 1 or not matrix.has_one_row_axis or not _is_zero(matrix.stage.init):
        return False
    lanes, depth = tile_shape(target, matrix.stage.buffer.dtype).lanes, matrix.k.size
    return target.vector_bits >= 256 or (depth is not None and depth % lanes == 0)  # narrower vectors have no masks


def _is_zero(init: PrimExpr | None) -> bool:
    return isinstance(init, (tir.IntImm, tir.FloatImm)) and init.value == 0


def dot_tiles(matrix: Product, target: Target, columns: range | None = None) -> st.Stmt:
    """Return the loops of a product for which `suits` holds, or of a few `columns` of one with B in either layout."""
    assert matrix.right is not None
    most = most_rows(matrix, target) if matrix.rows.size is None else matrix.rows.size
    if columns is None and blocked_dots.suits(matrix, most, target):
        return blocked_dots.blocked_dots(matrix, most, target)
    few = None if columns is None else FewColumns(len(columns), i64(columns.start))
    if columns is None or step(load_of(matrix.right), matrix.k) == 1:
        return tiles_of_dots(matrix, matrix.right, target, few)
    extents = {a: a.extent for a in matrix.batch} | {matrix.columns: i64(len(columns)), matrix.k: matrix.k.extent}
    transposed = local_buffer("transposed", list(extents.values()), matrix.stage.buffer.dtype)
    lanes = tile_shape(target, transposed.dtype).lanes
    if transposes_by_squares(matrix, len(columns), lanes):
        copy = transposed_by_squares(matrix, transposed, columns, lanes)
    else:
        copy = transposed_one_by_one(matrix, transposed, columns)
    indices = {a: as_int64(a.var) for a in extents}
    indices[matrix.columns] = ops.subtract(indices[matrix.columns], i64(columns.start))
    right = tir.BufferLoad(transposed, tuple(indices.values()))
    return allocated(transposed, sequence(copy, tiles_of_dots(matrix, right, target, few)))


@dataclass(frozen=True)
class FewColumns:
    """Neighbouring columns, as many as a tile has; those from `end` on, if it is given, are not stored."""

    count: int
    start: PrimExpr
    end: PrimExpr | None = None


def tiles_of_dots(matrix: Product, right: PrimExpr, target: Target, columns: FewColumns | None = None) -> st.Stmt:
    """Loops over tiles, parallel along the longer side: the rows if there are few `columns`, else the columns; `right`
    is the other factor, contiguous along k.
    """
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    lanes, most = shape.lanes, shape.registers // PAIRS_SHARE
    long = matrix.rows if columns is not None else matrix.columns
    across = columns.count if columns is not None else min(matrix.row_count or TALL, TALL)
    in_turn = long if _reads_in_turn(matrix, long, across, target) else None
    side = most // across if in_turn else min(SIDE, most // across) if across > 1 else _side_of_one(matrix, target)

    def of(count: int, begin: PrimExpr) -> st.Stmt:
        """`count` rows or columns of the long side, and all of the other side."""
        if columns is not None:
            tile = DotTile(matrix, right, count, across, lanes, in_turn, columns.end)
            return dot_tile(tile, begin, columns.start)
        tallest = DotTile(matrix, right, across, count, lanes, in_turn)
        return down(matrix, across, lambda rows, first: dot_tile(replace(tallest, rows=rows), first, begin))

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


def _reads_in_turn(matrix: Product, long: Axis, across: int, target: Target) -> bool:
    """Whether the factor along `long` is read as one stream: it exceeds L1, its rows are long enough for that, and the
    few rows of the other factor stay in L1 meanwhile.
    """
    if across > len(SHORTEST_STREAM) or long.size is None or matrix.k.size is None:
        return False
    row = matrix.k.size * matrix.stage.buffer.dtype.itemsize
    return (
        long.size * row > 2 * target.cpu.l1_bytes
        and matrix.k.size >= SHORTEST_STREAM[across - 1]
        and not _fills_l1(matrix, across, target)
    )


def _fills_l1(matrix: Product, across: int, target: Target) -> bool:
    """Whether so many rows of the other factor leave too little of L1 to those that stream by."""
    return across * (matrix.k.size or 0) * matrix.stage.buffer.dtype.itemsize * OTHERS_SHARE >= target.cpu.l1_bytes


def _side_of_one(matrix: Product, target: Target) -> int:
    """Rows of the long factor that meet a single one. Those that come from afar are fewer: rows of 2^k bytes are in the
    same places of a cache.
    """
    return TALL if _fills_l1(matrix, 1, target) else STREAMS
