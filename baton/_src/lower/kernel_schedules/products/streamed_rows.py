"""Products of few rows by a large B that lies (k, n): B streams through once, line after line, as it lies in memory.

    sums[i, j] += A[i, k] * B[k, j] + .. + A[i, k + 7] * B[k + 7, j]      for a block of j, then for the next k

A strip of columns jumps from row to row of B, which is a page each where rows are long: neither the processor's
prefetchers nor its table of pages keep up, and memory delivers 40 % of what it could. Here a few rows of B are read
side by side over a whole block of columns, whose sums wait in a cache meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.converted_rows import with_converted_rows
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.row_tiles import EvenTiles, even_tiles, shared_panels
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
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

STEPS = 8
"""Rows of B that are read side by side: as many uses of a sum that is loaded and stored."""
SUMS_BYTES = 1 << 16
"""Sums of a block: they share the second-level cache with what B brings."""
LEAST_COLUMNS = 512
"""Shorter rows of B are no way to jump."""
CACHES = 4
"""A B of more second-level caches than this streams; a smaller one is found in a cache by strips, too."""
TALLEST = 4
"""Rows of a tile: each loaded vector of B takes part in so many multiply-adds."""
MOST = 4
"""More rows keep the processor busy while B arrives, even if it comes from many places (`blocked_rows`)."""


def streams(matrix: Product, target: Target) -> bool:
    """Whether B, whose columns are contiguous, is large enough, and its rows long enough, to be read row by row."""
    assert matrix.right is not None
    columns, depth = matrix.columns.size, matrix.k.size
    if columns is None or depth is None or columns < LEAST_COLUMNS or not matrix.has_one_row_axis:
        return False
    size: int = columns * depth * load_of(matrix.right).buffer.dtype.itemsize
    return size > CACHES * target.cpu.l2_bytes


def streamed(matrix: Product, target: Target, most: int) -> st.Stmt:
    """The product, which has up to `most` rows; `streams` holds."""
    return with_converted_rows(matrix, target, lambda plain: _Streamed(plain, target, most).emit())


class _Streamed:
    """One block of columns after another, as wide as `most` rows allow; a block's sums are in one buffer."""

    def __init__(self, matrix: Product, target: Target, most: int) -> None:
        self.matrix, self.target = matrix, target
        dtype, columns = matrix.stage.buffer.dtype, i64(matrix.columns.size or 1)
        lanes, room = target.lanes(dtype.bits), SUMS_BYTES // dtype.itemsize
        cores = i64(target.num_cores)
        least = _parts(columns, i64(room // most))
        even = _parts(columns, ops.multiply(_parts(least, cores), cores))
        self.width = ops.multiply(_parts(even, i64(lanes)), i64(lanes))
        self.sums = local_buffer("sums", (room + most * lanes,), dtype)
        self.block = index_var("block")
        self.start = ops.multiply(self.block, self.width)
        self.count = ops.min(self.width, ops.subtract(columns, self.start))

    def emit(self) -> st.Stmt:
        matrix, depth = self.matrix, self.matrix.k.size or 0
        assert matrix.stage.init is not None
        init, steps, step = matrix.stage.init, tuned("streams", STEPS, (2, 4, 8, 16)), index_var("k_o")
        full, rest = divmod(depth, steps)
        parts = [self._each(lambda row, v: st.BufferStore(self.sums, init, (self._sum(row, v),)))]
        if full:
            parts.append(loop(step, full, self._all_rows(ops.multiply(step, i64(steps)), steps)))
        if rest:
            parts.append(self._all_rows(i64(full * steps), rest))
        parts.append(self._each(self._store))
        blocks = _parts(i64(matrix.columns.size or 1), self.width)
        work = ops.multiply(ops.multiply(as_int64(matrix.rows.extent), self.width), i64(max(1, depth // 16)))
        body = allocated(self.sums, nest(matrix.outer, sequence(*parts)))
        return shared_panels(matrix, self.block, blocks, body, work, self.target.num_cores)

    def _sum(self, row: PrimExpr, v: PrimExpr) -> PrimExpr:
        """The place of a sum."""
        return ops.add(ops.multiply(row, self.width), v)

    def _each(self, store: Callable[[PrimExpr, PrimExpr], st.Stmt]) -> st.Stmt:
        """`store` for each sum of the block."""
        row, v = index_var("row"), index_var("v")
        return loop(row, as_int64(self.matrix.rows.extent), loop(v, self.count, store(row, v), VECTORIZED))

    def _store(self, row: PrimExpr, v: PrimExpr) -> st.Stmt:
        places = {self.matrix.rows.var: row, self.matrix.columns.var: ops.add(self.start, v)}
        return self.matrix.anchored.store(tir.BufferLoad(self.sums, (self._sum(row, v),)), places)

    def _all_rows(self, k: PrimExpr, steps: int) -> st.Stmt:
        def every(tiles: EvenTiles) -> st.Stmt:
            return tiles.each(lambda rows, first, _: self._update(k, steps, rows, first))

        return even_tiles(as_int64(self.matrix.rows.extent), TALLEST, every)

    def _update(self, k: PrimExpr, steps: int, rows: int, first: PrimExpr) -> st.Stmt:
        """The terms of `steps` rows of B from `k` on, for `rows` rows of sums: what is loaded has a name, so that it is
        loaded once.
        """
        matrix, v, dtype = self.matrix, index_var("v"), self.sums.dtype
        assert matrix.right is not None
        at, below = [ops.add(k, i64(n)) for n in range(steps)], [ops.add(first, i64(n)) for n in range(rows)]
        lefts = [[tir.Var(f"a{r}_{n}", dtype) for n in range(steps)] for r in range(rows)]
        rights = [tir.Var(f"b{n}", dtype) for n in range(steps)]
        stores = []
        for row, mine in zip(below, lefts, strict=True):
            value: PrimExpr = tir.BufferLoad(self.sums, (self._sum(row, v),))
            for left, right in zip(mine, rights, strict=True):
                value = tir.Add(value, tir.Mul(left, right))
            stores.append(st.BufferStore(self.sums, value, (self._sum(row, v),)))
        body = sequence(*stores)
        for right, place in zip(rights, at, strict=True):
            column = ops.add(self.start, v)
            body = st.LetStmt(right, bound(matrix.right, {matrix.k: place, matrix.columns: column}), body)
        body = loop(v, self.count, body, VECTORIZED)
        for row, mine in zip(below, lefts, strict=True):
            for left, place in zip(mine, at, strict=True):
                body = st.LetStmt(left, bound(matrix.left, {matrix.k: place, matrix.rows: row}), body)
        return body


def _parts(whole: PrimExpr, part: PrimExpr) -> PrimExpr:
    """How many times `part` goes into `whole`, rounded up."""
    return ops.floordiv(ops.add(whole, ops.subtract(part, i64(1))), part)
