"""Products of small k: results are written row by row, at the bandwidth of a copy.

    for i in parallel: for j in vectors:    C[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j]

The time of such a product is that of writing its results. Tiles of rows, which write a piece of each row and come back
later for the next piece, run at a quarter to half the speed because prefetchers do not follow. An (n, k) B is
transposed first.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.converted_rows import with_converted_rows
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    parallel_rows,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

MOST_TERMS, MOST_TERMS_FAR = 8, 12
"""Most terms whose sums take no longer to compute than to write; the second, if the results exceed the second-level
cache.
"""
FEW_TERMS = 2
"""Most terms whose sums are bound by writing even in the second-level cache: two rows at once are two streams, which it
takes in at half the speed of one (two terms, 128 rows of 768: 120-145 instead of 150 GFLOP/s).
"""
NEAR = 1 << 16
"""Most bytes of B: it must stay in a cache from row to row."""


def suits(matrix: Product, target: Target) -> bool:
    """Whether k is small, rows are at least a vector long, and B stays in cache."""
    columns, terms, dtype = matrix.columns.size, matrix.k.size, matrix.stage.buffer.dtype
    if matrix.right is None or columns is None or terms is None or matrix.batch:
        return False
    most = MOST_TERMS_FAR if _writes_far(matrix, target) else MOST_TERMS
    return 0 < terms <= most and columns >= target.lanes(dtype.bits) and columns * terms * dtype.itemsize <= NEAR


def _writes_far(matrix: Product, target: Target) -> bool:
    """Whether the results exceed the second-level cache."""
    size = (matrix.row_count or 0) * (matrix.columns.size or 0) * matrix.stage.buffer.dtype.itemsize
    return size > target.cpu.l2_bytes


def short_sums(matrix: Product, target: Target) -> st.Stmt:
    """Return the loops of a product for which `suits` holds."""
    return with_converted_rows(matrix, target, lambda plain: _rows(plain, target))


def _rows(matrix: Product, target: Target) -> st.Stmt:
    assert matrix.right is not None
    load = load_of(matrix.right)
    if step(load, matrix.columns) == 1 and load.dtype == matrix.stage.buffer.dtype:
        return _sums(matrix, matrix.right, target)
    transposed = local_buffer(
        "transposed", (i64(matrix.k.size or 1), i64(matrix.columns.size or 1)), matrix.right.dtype
    )
    lines = []
    for term in range(matrix.k.size or 0):
        column = index_var("column")
        element = bound(matrix.right, {matrix.k: i64(term), matrix.columns: column})
        lines.append(
            loop(column, transposed.shape[1], st.BufferStore(transposed, element, (i64(term), column)), VECTORIZED)
        )
    right = tir.BufferLoad(transposed, (ops.cast("int64", matrix.k.var), ops.cast("int64", matrix.columns.var)))
    return allocated(transposed, sequence(*lines, _sums(matrix, right, target)))


def _sums(matrix: Product, right: PrimExpr, target: Target) -> st.Stmt:
    """A loop over all rows: one at a time, or two, which share loads of B, where writing is not the bottleneck."""
    rows, terms = matrix.rows, matrix.k.size or 1
    work = (matrix.columns.size or 1) * max(1, terms // 2)
    if terms <= FEW_TERMS or _writes_far(matrix, target):
        each = _lines(matrix, right, (rows.var,))
        return parallel_rows((*matrix.outer, rows), work, each, target.num_cores)
    every = as_int64(rows.extent)
    pairs = Axis(index_var("pair"), ops.floordiv(every, i64(2)))
    first = ops.multiply(pairs.var, i64(2))
    both = _lines(matrix, right, (first, ops.add(first, i64(1))))
    parts = [parallel_rows((*matrix.outer, pairs), 2 * work, both, target.num_cores)]
    if rows.size is None or rows.size % 2:
        last = nest(matrix.outer, _lines(matrix, right, (ops.subtract(every, i64(1)),)))
        odd = tir.EQ(ops.floormod(every, i64(2)), i64(1))
        parts.append(last if rows.size is not None else st.IfThenElse(odd, last))
    return sequence(*parts)


def _lines(matrix: Product, right: PrimExpr, rows: Sequence[PrimExpr]) -> st.Stmt:
    """The results of some rows."""
    assert matrix.stage.init is not None
    column, stores, scalars = index_var("column"), [], []
    for row in rows:
        total = matrix.stage.init
        for term in range(matrix.k.size or 0):
            scalar = tir.Var(f"a{term}", matrix.left.dtype)
            scalars.append((scalar, bound(matrix.left, {matrix.k: i64(term), matrix.rows: row})))
            factor = bound(right, {matrix.k: i64(term), matrix.columns: column})
            total = ops.add(total, tir.Mul(scalar, factor))
        stores.append(matrix.anchored.store(total, {matrix.columns.var: column, matrix.rows.var: row}))
    body = loop(column, matrix.columns.extent, sequence(*stores), VECTORIZED)
    for scalar, value in scalars:
        body = st.LetStmt(scalar, value, body)
    return body
