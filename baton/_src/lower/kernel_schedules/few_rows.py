"""Products of few rows: all rows at once, B read where it lies, several vectors of columns side by side.

Packing would read B once to write it and once more to use it; with one tile of rows nothing is used twice.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.factors import bound
from baton._src.lower.kernel_schedules.loops import allocated, i64, index_var, nest, sequence
from baton._src.lower.kernel_schedules.panel_packing import where
from baton._src.lower.kernel_schedules.products import Product
from baton._src.lower.kernel_schedules.row_tiles import columns_of, shared_panels, steps_of_k, write_out
from baton._src.lower.kernel_schedules.tiles import Accumulators, TileShape, tile_shape, unrolled_by
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st


def few_rows(matrix: Product, target: Target, rows: int) -> st.Stmt:
    """The product, whose last row axis has `rows` rows."""
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    size = matrix.columns.size
    width = _width(shape, rows, size)
    panels = ops.floordiv(ops.add(as_int64(matrix.columns.extent), i64(width - 1)), i64(width))
    panel = index_var("panel")
    start = ops.multiply(panel, i64(width))
    columns = columns_of(size, width, shape)

    def strip(wide: int, masked: bool) -> st.Stmt:
        return _strip(matrix, rows, wide, start, masked)

    if columns.whole is None:
        inside = tir.LE(ops.add(start, i64(width)), as_int64(matrix.columns.extent))
        body: st.Stmt = st.IfThenElse(inside, strip(width, False), strip(width, True))
    elif not columns.tail:
        body = strip(width, False)
    else:
        body = strip(columns.tail, columns.masked)
        if columns.whole:
            body = st.IfThenElse(tir.LT(panel, i64(columns.whole)), strip(width, False), body)
    work = ops.multiply(as_int64(matrix.k.extent), i64(max(1, rows * width // 16)))
    return shared_panels(matrix, panel, panels, nest(matrix.outer, body), work, target.num_cores)


def _width(shape: TileShape, rows: int, size: int | None) -> int:
    """Columns of a strip. Registers: the sums, one vector of B a column, and a broadcast element of A."""
    room = shape.rows * shape.vectors + 4
    width = shape.lanes * next((n for n in (8, 6, 4, 2) if (rows + 1) * n < room), 1)
    if size is not None and size < width:
        return shape.lanes * max(1, -(-size // shape.lanes))
    return width


def _strip(matrix: Product, rows: int, width: int, start: PrimExpr, masked: bool) -> st.Stmt:
    assert matrix.stage.init is not None
    assert matrix.right is not None
    init, source = matrix.stage.init, matrix.right
    acc = Accumulators.of(rows, width, matrix.stage.buffer.dtype)
    zero = ops.const(0, acc.buffer.dtype)
    end = as_int64(matrix.columns.extent)

    def update(k: PrimExpr) -> st.Stmt:
        def term(row: int, lane: tir.Var) -> PrimExpr:
            column = ops.add(start, lane)
            left = bound(matrix.left, {matrix.k: k, matrix.rows: i64(row)})
            right = bound(source, {matrix.k: k, matrix.columns: column})
            if masked:
                right = where(tir.LT(column, end), right, zero)
            return tir.Add(acc.load(row, lane), tir.Mul(left, right))

        return acc.each(term)

    body = sequence(
        acc.each(lambda row, lane: init),
        unrolled_by(steps_of_k(), matrix.k.extent, "k", update),
        write_out(matrix, acc, i64(0), start, masked),
    )
    return allocated(acc.buffer, body)
