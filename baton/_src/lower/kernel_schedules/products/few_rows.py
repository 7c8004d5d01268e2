"""Products of few rows (GEMV-like): all rows at once, B read in place, several vectors of columns side by side.

Packing would read B, write it and read it again; with a single tile of rows no packed element is used twice.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.converted_rows import with_converted_rows
from baton._src.lower.kernel_schedules.products.even_tiles import EvenTiles, even_tiles
from baton._src.lower.kernel_schedules.products.panel_packing import where
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.row_tiles import Columns, columns_of
from baton._src.lower.kernel_schedules.products.sharing import shared_panels
from baton._src.lower.kernel_schedules.products.tile_results import write_out
from baton._src.lower.kernel_schedules.products.tiles import (
    Accumulators,
    TileShape,
    steps_of_k,
    tile_shape,
    unrolled_by,
)
from baton._src.lower.kernel_schedules.shared.factors import bound
from baton._src.lower.kernel_schedules.shared.loops import allocated, i64, index_var, loop, nest, sequence
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

MOST = 16
"""Up to this many rows of an unknown number are computed this way."""
FEWEST = 6
"""Up to this many rows strips are four panels wide (in parts if registers cannot hold their sums); above it, two."""
SUMS = 20
"""Vectors of sums in the tallest tile when the number of rows is unknown: each height takes time to compile."""
TALLEST_NARROW = 10
"""Rows of such tiles when columns are few."""
TALLEST_MASKED = 3
"""Rows of such tiles for the last columns, which are few compared with the others."""

Tiles = Callable[[int, PrimExpr, bool], st.Stmt]
"""Make all rows of a strip, given its width, its first column, and whether it extends beyond the last column."""


def few_rows(matrix: Product, target: Target) -> st.Stmt:
    """Return the loops of the product, with all rows of the last row axis in one tile."""
    return with_converted_rows(matrix, target, lambda plain: _one_tile(plain, target))


def _one_tile(matrix: Product, target: Target) -> st.Stmt:
    rows = matrix.rows.size or 0
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    # Registers: the sums, one vector of B per column, and a broadcast element of A.
    room = shape.rows * shape.vectors + 4
    vectors = next((n for n in (8, 6, 4, 2) if (rows + 1) * n < room), 1)

    def tiles(width: int, start: PrimExpr, masked: bool) -> st.Stmt:
        return _tile(matrix, rows, width, i64(0), start, masked)

    return _strips(matrix, target, shape.lanes * vectors, i64(rows), tiles)


def up_to_most(matrix: Product, target: Target, most: int = MOST) -> st.Stmt:
    """Return the loops of a product of up to `most` rows: for each strip, as few tiles as possible, of nearly equal
    heights, taller ones first.
    """
    return with_converted_rows(matrix, target, lambda plain: _even_tiles(plain, target, most))


def _even_tiles(matrix: Product, target: Target, most: int) -> st.Stmt:
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    every = as_int64(matrix.rows.extent)
    strip = (4 if most <= FEWEST else 2) * shape.width
    width, _ = _strip_columns(matrix, shape, strip)

    def with_heights(usual: EvenTiles, low: EvenTiles) -> st.Stmt:
        def tiles(wide: int, start: PrimExpr, masked: bool) -> st.Stmt:
            def of(rows: int, first: PrimExpr, _: PrimExpr) -> st.Stmt:
                def tile(size: int, at: PrimExpr, cut: bool) -> st.Stmt:
                    return _tile(matrix, rows, size, first, ops.add(start, at), cut)

                # Few rows need the whole strip to hide the latency of multiply-adds; more rows may need more registers
                # than there are.
                vectors, fitting = -(-wide // shape.lanes), max(1, (shape.registers - 1) // (rows + 1))
                size = -(-vectors // -(-vectors // fitting)) * shape.lanes
                return _parts(wide, size, (matrix.columns.size or 0) % width if masked else wide, tile)

            return (low if masked and width > shape.lanes else usual).each(of)

        return _strips(matrix, target, strip, every, tiles)

    if most <= FEWEST:
        return even_tiles(every, most, lambda usual: with_heights(usual, usual), least=matrix.least_rows)
    tallest = min(TALLEST_NARROW, max(1, SUMS * shape.lanes // width))
    return even_tiles(
        every, tallest, lambda usual: even_tiles(every, TALLEST_MASKED, lambda low: with_heights(usual, low))
    )


def _parts(wide: int, size: int, inside: int, tile: Callable[[int, PrimExpr, bool], st.Stmt]) -> st.Stmt:
    """A strip of `wide` columns in parts of `size`; those within its first `inside` columns need no masks."""
    parts: list[st.Stmt] = []
    whole, equal, rest = inside // size, wide // size, wide % size
    for begin, count, cut in ((0, whole, False), (whole, equal - whole, True)):
        if count == 1:
            parts.append(tile(size, i64(begin * size), cut))
        elif count:
            part = index_var("part")
            at = ops.multiply(ops.add(part, i64(begin)), i64(size))
            parts.append(loop(part, count, tile(size, at, cut)))
    if rest:
        parts.append(tile(rest, i64(equal * size), inside < wide))
    return sequence(*parts)


def _strip_columns(matrix: Product, shape: TileShape, width: int) -> tuple[int, Columns]:
    """The width of strips, at most `width`, and how the columns are divided into them."""
    size = matrix.columns.size
    if size is not None and size < width:
        width = shape.lanes * max(1, -(-size // shape.lanes))
    return width, columns_of(size, width, shape)


def _strips(matrix: Product, target: Target, width: int, rows: PrimExpr, tiles: Tiles) -> st.Stmt:
    """Loop over all columns in strips of `width`."""
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    width, columns = _strip_columns(matrix, shape, width)
    panels = ops.floordiv(ops.add(as_int64(matrix.columns.extent), i64(width - 1)), i64(width))
    panel = index_var("panel")
    start = ops.multiply(panel, i64(width))
    if columns.whole is None:
        inside = tir.LE(ops.add(start, i64(width)), as_int64(matrix.columns.extent))
        body: st.Stmt = st.IfThenElse(inside, tiles(width, start, False), tiles(width, start, True))
    elif not columns.tail:
        body = tiles(width, start, False)
    else:
        body = tiles(columns.tail, i64(columns.whole * width), columns.masked)
        if columns.whole:
            body = st.IfThenElse(tir.LT(panel, i64(columns.whole)), tiles(width, start, False), body)
    work = ops.multiply(ops.multiply(as_int64(matrix.k.extent), rows), i64(max(1, width // 16)))
    return shared_panels(matrix, panel, panels, nest(matrix.outer, body), work, target.num_cores)


def _tile(matrix: Product, rows: int, width: int, first: PrimExpr, start: PrimExpr, masked: bool) -> st.Stmt:
    assert matrix.stage.init is not None
    assert matrix.right is not None
    init, source = matrix.stage.init, matrix.right
    acc = Accumulators.of(rows, width, matrix.stage.buffer.dtype)
    zero = ops.const(0, acc.buffer.dtype)
    end = as_int64(matrix.columns.extent)

    def update(k: PrimExpr) -> st.Stmt:
        def left(row: int) -> PrimExpr:
            return bound(matrix.left, {matrix.k: k, matrix.rows: ops.add(first, i64(row))})

        def right(lane: tir.Var) -> PrimExpr:
            column = ops.add(start, lane)
            value = bound(source, {matrix.k: k, matrix.columns: column})
            return where(tir.LT(column, end), value, zero) if masked else value

        return acc.add_products(left, right)

    body = sequence(
        acc.each(lambda row, lane: init),
        unrolled_by(steps_of_k(), matrix.k.extent, "k", update),
        write_out(matrix, acc, first, start, masked),
    )
    return allocated(acc.buffer, body)
