"""Products of few rows by a large (k, n) B: B is streamed once, row by row, in place.

    sums[i, j] += A[i, k] * B[k, j] + .. + A[i, k + 7] * B[k + 7, j]      for a block of j, then for the next k

A strip of columns would jump from row to row of B, where long rows are each on a new page: neither hardware prefetchers
nor the TLB keep up, and memory delivers 40 % of its bandwidth. Here a few rows of B are read together over a whole
block of columns, whose sums are in cache meanwhile. One or two rows with a B in L2 are also computed this way where
half a vector costs as much as a whole one, since such a processor is limited by L2 (one row by 768x128: 105 GFLOP/s
instead of 66 in strips).
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.converted_rows import with_converted_rows
from baton._src.lower.kernel_schedules.products.products import Product, exactly, renamed
from baton._src.lower.kernel_schedules.products.sharing import shared_panels
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    sequence,
)
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

STEPS = 8
"""Rows of B that are read side by side: as many uses of a sum that is loaded and stored. From the second-level cache
they are as many as A has rows: a single stream is foreseen best (one row of 512x128: 74 instead of 66 GFLOP/s by two
lines at a time), but each line of B costs as many loads and stores of sums as A has rows.
"""
SUMS_BYTES = 1 << 16
"""Sums of a block: they share the second-level cache with what B brings."""
LEAST_COLUMNS = 512
"""Shorter rows of B are no way to jump."""
CACHES = 4
"""A B of more second-level caches than this streams; a smaller one is found in a cache by strips, too."""
MOST, MOST_NEAR = 4, 2
"""More rows keep the processor busy while B arrives, even if it comes from many places (`blocked_rows`, `few_rows`)."""
LEAST_VECTORS = 12
"""Vectors of a row of B in the second-level cache: nearly all of a shorter one is a strip."""


def streams(matrix: Product, target: Target) -> bool:
    """Whether B has contiguous columns, is large enough, and has rows long enough to be read row by row."""
    assert matrix.right is not None
    columns, depth = matrix.columns.size, matrix.k.size
    if columns is None or depth is None or columns < LEAST_COLUMNS or not matrix.has_one_row_axis:
        return False
    size: int = columns * depth * load_of(matrix.right).buffer.dtype.itemsize
    return size > CACHES * target.cpu.l2_bytes


def streams_near(matrix: Product, target: Target) -> bool:
    """Whether a B in the second-level cache is read row by row for up to `MOST_NEAR` rows."""
    assert matrix.right is not None
    shape, columns, depth = tile_shape(target, matrix.stage.buffer.dtype), matrix.columns.size, matrix.k.size
    if not shape.masks or shape.halves or columns is None or depth is None or not matrix.has_one_row_axis:
        return False
    size: int = columns * depth * load_of(matrix.right).buffer.dtype.itemsize
    return columns >= LEAST_VECTORS * shape.lanes and 2 * target.cpu.l1_bytes < size <= target.cpu.l2_bytes


def streamed(matrix: Product, target: Target, *, near: bool = False) -> st.Stmt:
    """Return the loops of a product of up to `MOST` rows, or `MOST_NEAR` if B is `near`; `streams` or `streams_near`
    holds.
    """
    steps = matrix.rows.size or 1 if near else STEPS
    return with_converted_rows(matrix, target, lambda plain: _Streamed(plain, target, steps).emit())


def streamed_any(matrix: Product, target: Target, *, near: bool = False) -> st.Stmt:
    """The same for a number of rows known only at run time, up to `MOST` or `MOST_NEAR`."""
    most = MOST_NEAR if near else MOST
    every: st.Stmt = st.Evaluate(tir.IntImm("int32", 0))
    for rows in range(1, most + 1):
        just = streamed(exactly(renamed(matrix), rows), target, near=near)
        every = st.IfThenElse(tir.EQ(as_int64(matrix.rows.extent), i64(rows)), just, every)
    return every


class _Streamed:
    """Loops over blocks of columns, as wide as the number of rows allows; the sums of a block are in one buffer."""

    def __init__(self, matrix: Product, target: Target, steps: int) -> None:
        self.matrix, self.target, self.steps = matrix, target, steps
        dtype, self.columns, self.rows = matrix.stage.buffer.dtype, matrix.columns.size or 1, matrix.rows.size or 1
        lanes, room = target.lanes(dtype.bits), SUMS_BYTES // dtype.itemsize
        least = -(-self.columns // (room // self.rows))
        blocks = -(-least // target.num_cores) * target.num_cores
        self.width = -(-self.columns // (blocks * lanes)) * lanes
        self.sums = local_buffer("sums", (self.rows * self.width,), dtype)
        self.block = index_var("block")
        self.start: PrimExpr = ops.multiply(self.block, i64(self.width))
        self.count = ops.min(i64(self.width), ops.subtract(i64(self.columns), self.start))
        if self.columns <= self.width:
            self.start, self.count = i64(0), i64(self.columns)

    def emit(self) -> st.Stmt:
        matrix, depth = self.matrix, self.matrix.k.size or 0
        assert matrix.stage.init is not None
        init, steps, step = matrix.stage.init, tuned("streams", self.steps, (1, 2, 4, 8, 16)), index_var("k_o")
        full, rest = divmod(depth, steps)
        parts = [self._each(lambda row, v: st.BufferStore(self.sums, init, (self._sum(row, v),)))]
        if full:
            parts.append(loop(step, full, self._update(ops.multiply(step, i64(steps)), steps)))
        if rest:
            parts.append(self._update(i64(full * steps), rest))
        parts.append(self._each(self._store))
        blocks, work = -(-self.columns // self.width), self.rows * self.width * max(1, depth // 16)
        body = allocated(self.sums, nest(matrix.outer, sequence(*parts)))
        return shared_panels(matrix, self.block, i64(blocks), body, i64(work), self.target.num_cores)

    def _sum(self, row: int, v: PrimExpr) -> PrimExpr:
        """The index of a sum in the buffer."""
        return ops.add(i64(row * self.width), v)

    def _each(self, store: Callable[[int, PrimExpr], st.Stmt]) -> st.Stmt:
        """`store` for each sum of the block."""
        lines = []
        for row in range(self.rows):
            v = index_var("v")
            lines.append(loop(v, self.count, store(row, v), VECTORIZED))
        return sequence(*lines)

    def _store(self, row: int, v: PrimExpr) -> st.Stmt:
        places = {self.matrix.rows.var: i64(row), self.matrix.columns.var: ops.add(self.start, v)}
        return self.matrix.anchored.store(tir.BufferLoad(self.sums, (self._sum(row, v),)), places)

    def _update(self, k: PrimExpr, steps: int) -> st.Stmt:
        """Add the terms of `steps` rows of B from `k` on; each loaded value is bound to a variable, so that it is
        loaded once.
        """
        matrix, v, dtype = self.matrix, index_var("v"), self.sums.dtype
        assert matrix.right is not None
        at = [ops.add(k, i64(n)) for n in range(steps)]
        lefts = [[tir.Var(f"a{r}_{n}", dtype) for n in range(steps)] for r in range(self.rows)]
        rights = [tir.Var(f"b{n}", dtype) for n in range(steps)]
        stores = []
        for row, mine in enumerate(lefts):
            value: PrimExpr = tir.BufferLoad(self.sums, (self._sum(row, v),))
            for left, right in zip(mine, rights, strict=True):
                value = tir.Add(value, tir.Mul(left, right))
            stores.append(st.BufferStore(self.sums, value, (self._sum(row, v),)))
        body = sequence(*stores)
        for right, place in zip(rights, at, strict=True):
            column = ops.add(self.start, v)
            body = st.LetStmt(right, bound(matrix.right, {matrix.k: place, matrix.columns: column}), body)
        body = loop(v, self.count, body, VECTORIZED)
        for row, mine in enumerate(lefts):
            for left, place in zip(mine, at, strict=True):
                body = st.LetStmt(left, bound(matrix.left, {matrix.k: place, matrix.rows: i64(row)}), body)
        return body
