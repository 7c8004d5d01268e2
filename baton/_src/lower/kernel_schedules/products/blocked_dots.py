"""Dot products of a few rows with a large (n, k) B, in blocks of k.

    for a block of columns, of k, for a few columns, for a tile of rows:   part[tile] += A[rows, k] B[columns, k]

Every few columns read the rows of A again. Whole rows would come from L2, which cannot keep up with the multiply-adds,
so a block of them is copied into a contiguous buffer that stays in L1. The partial sums (one vector per result) stay in
cache between blocks, and their lanes are added up once, at the end. Each step along k prefetches what the same step of
the next columns will read: it lies in other pages, where hardware prefetchers do not follow.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.dot_tile import DotTile, add_terms, added_up, down, written
from baton._src.lower.kernel_schedules.products.panel_packing import where
from baton._src.lower.kernel_schedules.products.products import Product
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
from baton._src.lower.kernel_schedules.shared.prefetch import prefetched
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

SIDE, FACTORS = 4, 8
"""Columns of a tile, and the number of registers its sums leave for the factors."""
FEWEST = 4
"""Least number of rows: fewer are read as streams, one column after the other."""
LONGEST = 512
"""Most elements of k in a block."""
SUMS_BYTES = 1 << 16
"""Bytes of partial sums, which share the second-level cache with B."""


def suits(matrix: Product, most: int, target: Target) -> bool:
    """Whether B is contiguous along k and larger than the second-level cache, and there are at most `most` rows."""
    assert matrix.right is not None
    shape, columns, depth = tile_shape(target, matrix.stage.buffer.dtype), matrix.columns.size, matrix.k.size
    if most < FEWEST or columns is None or depth is None or columns % SIDE or depth % shape.lanes:
        return False
    size: int = columns * depth * load_of(matrix.right).buffer.dtype.itemsize
    return depth > LONGEST and size > target.cpu.l2_bytes


def blocked_dots(matrix: Product, most: int, target: Target) -> st.Stmt:
    """Return the loops of a product of up to `most` rows, for which `suits` holds."""
    return _BlockedDots(matrix, most, target).emit()


class _BlockedDots:
    """Loops over blocks of columns and, in each, over blocks of k."""

    def __init__(self, matrix: Product, most: int, target: Target) -> None:
        self.matrix, self.target = matrix, target
        dtype = matrix.stage.buffer.dtype
        self.columns, self.depth = matrix.columns.size or SIDE, matrix.k.size or 1
        shape = tile_shape(target, dtype)
        tallest = (shape.registers - FACTORS) // SIDE
        self.lanes, self.tall = shape.lanes, -(-most // -(-most // tallest))
        near = target.cpu.l1_bytes * 2 // 3  # B gets the rest of the cache
        longest = min(LONGEST, near // (dtype.itemsize * most)) // self.lanes * self.lanes
        self.steps = max(8 * self.lanes, longest)
        self.tiles = -(-most // self.tall)
        self.slot = self.tall * SIDE * self.lanes
        room = SUMS_BYTES // (dtype.itemsize * self.slot * self.tiles)
        self.panels = max(1, min(room, self.columns // (SIDE * 2 * target.num_cores)))
        self.block, self.start = index_var("block"), index_var("start")
        self.sums = local_buffer("parts", (self.panels * self.tiles * self.slot,), dtype)
        self.copied = local_buffer("rows", (most, self.steps), dtype)

    def emit(self) -> st.Stmt:
        matrix, width = self.matrix, self.panels * SIDE
        body = allocated(self.sums, sequence(self._zeros(), self._terms(), self._results()))
        body = st.LetStmt(self.start, ops.multiply(self.block, i64(width)), nest(matrix.outer, body))
        work = ops.multiply(as_int64(matrix.rows.extent), i64(width * max(1, self.depth // 16)))
        return shared_panels(matrix, self.block, i64(-(-self.columns // width)), body, work, self.target.num_cores)

    def _count(self) -> PrimExpr:
        """The number of panels in the block."""
        if self.columns % (self.panels * SIDE) == 0:
            return i64(self.panels)
        left = ops.floordiv(ops.subtract(i64(self.columns), self.start), i64(SIDE))
        return ops.min(i64(self.panels), left)

    def _part(self, panel: PrimExpr, first: PrimExpr) -> Buffer:
        """The partial sums of a tile."""
        number = ops.add(ops.multiply(panel, i64(self.tiles)), ops.floordiv(first, i64(self.tall)))
        offset = ops.multiply(number, i64(self.slot))
        return Buffer(self.sums.data, self.sums.dtype, (i64(self.slot),), (), offset, "part")

    def _zeros(self) -> st.Stmt:
        panel, lane = index_var("panel"), index_var("lane")
        size = self.tiles * self.slot
        at = ops.add(ops.multiply(panel, i64(size)), lane)
        return loop(
            panel,
            self._count(),
            loop(lane, size, st.BufferStore(self.sums, ops.const(0, self.sums.dtype), (at,)), VECTORIZED),
        )

    def _terms(self) -> st.Stmt:
        """The loop over all blocks of k."""
        number, panel = index_var("k_o"), index_var("panel")
        k = ops.multiply(number, i64(self.steps))
        rest = ops.subtract(i64(self.depth), k)
        steps = i64(self.steps) if self.depth % self.steps == 0 else ops.min(i64(self.steps), rest)
        tiles = down(self.matrix, self.tall, lambda rows, first: self._tile(rows, first, panel, k, steps))
        every = sequence(self._copy(k, steps), loop(panel, self._count(), tiles))
        return allocated(self.copied, loop(number, -(-self.depth // self.steps), every))

    def _copy(self, k: PrimExpr, steps: PrimExpr) -> st.Stmt:
        """Copy the rows of A from `k` on next to each other, so that they do not compete for the same cache sets."""
        row, at = index_var("row"), index_var("at")
        value = bound(self.matrix.left, {self.matrix.rows: row, self.matrix.k: ops.add(k, at)})
        store = st.BufferStore(self.copied, value, (row, at))
        return loop(row, as_int64(self.matrix.rows.extent), loop(at, steps, store, VECTORIZED))

    def _tile(self, rows: int, first: PrimExpr, panel: PrimExpr, k: PrimExpr, steps: PrimExpr) -> st.Stmt:
        """Add the terms of one block of k for `rows` rows and the columns of one panel."""
        matrix, lanes = self.matrix, self.lanes
        assert matrix.right is not None
        here = tir.BufferLoad(self.copied, (as_int64(matrix.rows.var), as_int64(matrix.k.var)))
        right = bound(matrix.right, {matrix.k: ops.add(k, as_int64(matrix.k.var))})
        tile = DotTile(replace(matrix, left=here), right, rows, SIDE, lanes)
        part, acc = self._part(panel, first), local_buffer("acc", (tile.pairs * lanes,), self.sums.dtype)
        start = ops.add(self.start, ops.multiply(panel, i64(SIDE)))
        step = index_var("k_i")
        begin = ops.multiply(step, i64(lanes))
        terms = sequence(self._prefetched(panel, k, begin), add_terms(tile, acc, first, start, begin, None))
        body = sequence(
            _moved(acc, part, tile.pairs * lanes),
            loop(step, ops.floordiv(steps, i64(lanes)), terms),
            _moved(part, acc, tile.pairs * lanes),
        )
        return allocated(acc, body)

    def _prefetched(self, panel: PrimExpr, k: PrimExpr, begin: PrimExpr) -> st.Stmt:
        """Prefetch what the same step reads of the next panel, or of the first panel of the next block of k."""
        assert self.matrix.right is not None
        after = ops.add(panel, i64(1))
        last = tir.GE(after, self._count())
        start = ops.add(self.start, ops.multiply(where(last, i64(0), after), i64(SIDE)))
        later = ops.min(ops.add(where(last, ops.add(k, i64(self.steps)), k), begin), i64(self.depth - 1))
        places = ({self.matrix.k: later, self.matrix.columns: ops.add(start, i64(n))} for n in range(SIDE))
        return sequence(*(prefetched(load_of(bound(self.matrix.right, place))) for place in places))

    def _results(self) -> st.Stmt:
        """Add up the lanes and store the results through the epilogue."""
        panel, matrix, lanes = index_var("panel"), self.matrix, self.lanes
        assert matrix.right is not None
        right = matrix.right

        def tile(rows: int, first: PrimExpr) -> st.Stmt:
            one = DotTile(matrix, right, rows, SIDE, lanes)
            sums = local_buffer("sums", (lanes * -(-one.pairs // lanes),), self.sums.dtype)
            start = ops.add(self.start, ops.multiply(panel, i64(SIDE)))
            found = added_up(one.lanes, one.pairs, self._part(panel, first), sums)
            return allocated(sums, sequence(found, written(one, sums, first, start)))

        return loop(panel, self._count(), down(matrix, self.tall, tile))


def _moved(into: Buffer, source: Buffer, count: int) -> st.Stmt:
    lane = index_var("lane")
    return loop(lane, count, st.BufferStore(into, tir.BufferLoad(source, (lane,)), (lane,)), VECTORIZED)
