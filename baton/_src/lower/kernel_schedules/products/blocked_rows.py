"""Products of a few to several dozen rows: B is read in place, in blocks of k.

    for a block of k, for a strip of columns, for a tile of rows:   sums[tile] += A[tile, k] B[k, strip]

The accumulators of a tile are in registers during a block of k, and in a cache between blocks. A block has so few rows
of B that the TLB covers all their pages while the strips advance; a strip over the whole of k would touch a new page at
each row. Each step along k prefetches the same row of the next strip, which hardware prefetchers cannot predict, so
memory traffic and arithmetic overlap. Packing B would not pay: it would write and read data that is used only a few
times.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.converted_rows import with_converted_rows
from baton._src.lower.kernel_schedules.products.even_tiles import EvenTiles, even_tiles
from baton._src.lower.kernel_schedules.products.panel_packing import where
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.row_tiles import PAGE, rows_in_place
from baton._src.lower.kernel_schedules.products.sharing import shared_panels
from baton._src.lower.kernel_schedules.products.tile_results import write_out
from baton._src.lower.kernel_schedules.products.tiles import (
    Accumulators,
    steps_of_k,
    tile_rows,
    tile_shape,
    unrolled_by,
)
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    ceil_div,
    i64,
    index_var,
    local_buffer,
    loop,
    named,
    nest,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.prefetch import prefetched
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

STEPS, STEPS_FAR = 256, 64
"""Rows of B in a block: each sum is loaded and stored once for that many multiply-adds. Fewer of a B from beyond the
second-level cache: the first-level TLB covers their pages, and where rows are a multiple of pages apart, their lines,
which share few sets of that cache, stay there until the last tile of rows.
"""
FAR = 2.0
"""Second-level caches that such a B exceeds."""
PAGES = 64
"""Pages of a B that is read as one block: the TLB covers all of them."""
SUMS_BYTES = 1 << 18
"""Bytes of sums in a block of columns: they share the second-level cache with the parts of B being read."""
SUMS = 24
"""Vectors of sums in a tile when the number of rows is unknown: this leaves registers for the prefetched data."""
TALLEST_NARROW = 12
"""Rows of such a tile when it is at most one vector wide: with fewer sums, the latency of multiply-adds would show."""
TALLEST_LAST, SUMS_LAST = 4, 8
"""Rows of tiles over the last columns, which are few compared with the others; and the vectors of sums in narrow ones.
"""
LOWER = (8, 6)
"""Rows of tiles that leave registers for strips of three and of four vectors, where two do not divide the columns."""
USUAL_VECTORS, MOST_VECTORS = 3, 4
"""Vectors in a strip: larger strips take longer to compile."""
MOST_UNKNOWN = 128
"""Rows of a group when the number of rows is unknown: any number is covered by such groups, without packing."""
MOST = 64
"""Above this many rows the cost of packing B is negligible."""


def suits(matrix: Product) -> bool:
    """Whether B, whose columns are contiguous, can be read in blocks."""
    return matrix.columns.size is not None and matrix.k.size is not None and matrix.has_one_row_axis


def blocked(matrix: Product, target: Target) -> st.Stmt:
    """Return the loops of a product of up to `MOST` rows, for which `suits` holds."""
    return with_converted_rows(matrix, target, lambda plain: _Blocked(plain, target).emit())


@dataclass(frozen=True)
class _Strip:
    """Rows of B from `k` on and `width` columns from `start` on (if `masked`, some of them are beyond the last one),
    followed by what is prefetched meanwhile: the same rows and columns of the next strip.
    """

    k: PrimExpr
    steps: PrimExpr
    start: PrimExpr
    width: int
    masked: bool
    later: PrimExpr
    ahead: PrimExpr


class _Blocked:
    """Loops over blocks of columns, as wide as the number of rows allows; the sums of a block are in one buffer."""

    def __init__(self, matrix: Product, target: Target) -> None:
        self.matrix, self.target = matrix, target
        dtype = matrix.stage.buffer.dtype
        self.columns, self.depth = matrix.columns.size or 1, max(1, matrix.k.size or 1)
        self.every = as_int64(matrix.rows.extent)
        self.groups, self.group = index_var("groups"), index_var("group")
        self.height, self.below = index_var("height"), index_var("below")
        self.rows: PrimExpr = self.every if matrix.rows.size is not None else index_var("rows")
        self.shape = tile_shape(target, dtype)
        size = self.columns * self.depth * dtype.itemsize
        steps = STEPS_FAR if size > FAR * target.cpu.l2_bytes else STEPS
        usual = self.depth if size <= PAGES * PAGE else min(steps, self.depth)
        most = tuned("k_block", usual, (n for n in (32, 64, 128, 512) if n < self.depth))
        self.blocks = -(-self.depth // most)
        self.steps = -(-self.depth // self.blocks)
        self.tallest, vectors = self._tile_sizes()
        grain = self.shape.grain
        self.strip = min(self.shape.lanes * vectors, -(-self.columns // grain) * grain)
        room = SUMS_BYTES // dtype.itemsize
        strips = i64(-(-self.columns // self.strip))
        blocks: PrimExpr = i64(target.num_cores)
        if self.blocks > 1:  # the sums of a whole group must fit
            least = ceil_div(i64(self.columns), ops.floordiv(i64(room), ops.max(self._group_rows(), i64(1))))
            blocks = ops.multiply(ceil_div(least, blocks), blocks)
        self.wide = ops.multiply(ceil_div(strips, blocks), i64(self.strip))
        self.width: PrimExpr = self.wide if isinstance(self.wide, tir.IntImm) else index_var("width")
        self.sums = local_buffer("sums", (room + MOST_UNKNOWN * self.strip,), dtype)
        self.block = index_var("block")
        self.start, self.end = index_var("start"), index_var("end")

    def _tile_sizes(self) -> tuple[int, int]:
        """The most rows of a tile and the vectors of a strip."""
        rows, most = self.matrix.rows.size, min(self.shape.rows, rows_in_place(self.matrix))
        if rows is None:
            tallest = TALLEST_NARROW if self.columns <= self.shape.lanes else self.shape.tallest_unknown
            vectors = self._vectors(tallest)
            usual = min(most, tallest, max(1, SUMS // vectors))
            return tuned("tile_rows", usual, range(2, most + 1)), vectors
        if self._every_vector == 1:  # as many sums by more rows: few would wait for each other
            most = min(self.shape.rows * self.shape.vectors, rows_in_place(self.matrix))
            return tuned("tile_rows", tile_rows(rows, most, 1), range(2, most + 1)), 1
        heights = [tile_rows(rows, min(most, height)) for height in (most, *LOWER)]
        usual = min(heights, key=lambda height: -self._every_vector % self._fitting(height)[0])
        others = (-(-rows // -(-rows // height)) for height in range(2, most + 1))  # other tile counts
        tallest = tuned("tile_rows", usual, others)
        return tallest, self._vectors(tallest)

    @property
    def _every_vector(self) -> int:
        """The number of vectors that all columns fill."""
        return -(-self.columns // self.shape.lanes)

    def _vectors(self, tallest: int) -> int:
        """The number of vectors in a strip."""
        best, fits = self._fitting(tallest)
        return tuned("tile_vectors", best, fits)

    def _fitting(self, tallest: int) -> tuple[int, range]:
        """The largest number of vectors per strip whose sums fit in registers, but no more than an even split of the
        columns needs.
        """
        spare = 3 + tallest // 4 if self.shape.registers > 16 else 2
        most = max(1, (self.shape.registers - spare) // (tallest + 1))
        fits = range(min(most, MOST_VECTORS, self._every_vector), 0, -1)

        def cost(n: int) -> tuple[int, ...]:
            masked = self.columns % (n * self.shape.lanes) != 0  # then narrow strips: the last has lower tiles
            return n == 1, -self._every_vector % n, abs(n - USUAL_VECTORS), n if masked else -n

        return min(fits, key=cost), fits

    def _groups(self) -> PrimExpr:
        """The number of groups of rows, when the number of rows is unknown."""
        return ops.max(ceil_div(self.every, i64(MOST_UNKNOWN)), i64(1))

    def _group_rows(self) -> PrimExpr:
        """The most rows in a group."""
        return self.every if self.matrix.rows.size is not None else ceil_div(self.every, self._groups())

    def emit(self) -> st.Stmt:
        matrix = self.matrix
        width, blocks = self.width, ceil_div(i64(self.columns), self.width)
        end = ops.min(ops.add(self.start, width), i64(self.columns))
        work = ops.multiply(ops.multiply(self.height, self.width), i64(max(1, self.depth // 16)))
        body = even_tiles(self.rows, self.tallest, self._block, least=matrix.least_rows)
        if matrix.rows.size is None:
            body = self._group(body)
        body = st.LetStmt(self.start, ops.multiply(self.block, width), st.LetStmt(self.end, end, body))
        part, parts = self.block, blocks
        if matrix.rows.size is None:
            part, parts = index_var("part"), ops.multiply(self.groups, blocks)
            body = st.LetStmt(self.group, ops.floordiv(part, blocks), body)
            body = st.LetStmt(self.block, ops.floormod(part, blocks), body)
        every = shared_panels(matrix, part, parts, nest(matrix.outer, body), work, self.target.num_cores)
        if isinstance(width, tir.Var):
            every = st.LetStmt(width, self.wide, every)
        every = st.LetStmt(self.height, ops.max(self._group_rows(), i64(1)), every)
        return every if matrix.rows.size is not None else st.LetStmt(self.groups, self._groups(), every)

    def _group(self, body: st.Stmt) -> st.Stmt:
        """`body` for the rows of one group. Groups differ by at most one row, so none is left with only a few."""
        assert isinstance(self.rows, tir.Var)
        first, after = (
            ops.floordiv(ops.multiply(n, self.every), self.groups) for n in (self.group, ops.add(self.group, i64(1)))
        )
        return st.LetStmt(self.below, first, st.LetStmt(self.rows, ops.subtract(after, self.below), body))

    def _block(self, tiles: EvenTiles) -> st.Stmt:
        """The loops over one block of columns for a group of rows."""
        number, init = index_var("k_o"), self.matrix.stage.init
        assert init is not None
        k = ops.multiply(number, i64(self.steps))
        body = loop(number, self.blocks, named("k", k, lambda first: self._strips(tiles, first)))
        if self.blocks == 1:
            return body
        zeros = self._each(lambda row, v, at: st.BufferStore(self.sums, init, (at,)))
        return allocated(self.sums, sequence(zeros, body, self._each(self._store)))

    def _row(self, row: PrimExpr) -> PrimExpr:
        """The index in the matrix of a row of the group."""
        return row if self.matrix.rows.size is not None else ops.add(self.below, row)

    def _sum(self, row: PrimExpr, v: PrimExpr) -> PrimExpr:
        """The index of a sum in the buffer."""
        return ops.add(ops.multiply(row, self.width), v)

    def _each(self, store: Callable[[PrimExpr, PrimExpr, PrimExpr], st.Stmt]) -> st.Stmt:
        """`store(row, column, place)` for each sum of the block, where `place` is its index in the buffer."""
        row, strip, v = index_var("row"), index_var("strip"), index_var("v")
        begin = ops.multiply(strip, i64(self.strip))
        column = ops.add(ops.add(self.start, begin), v)
        one = store(self._row(row), column, self._sum(row, ops.add(begin, v)))
        if self.columns % self.strip:
            one = st.IfThenElse(tir.LT(column, i64(self.columns)), one)
        return loop(row, self.rows, loop(strip, self._strip_count(), loop(v, self.strip, one, VECTORIZED)))

    def _store(self, row: PrimExpr, column: PrimExpr, at: PrimExpr) -> st.Stmt:
        places = {self.matrix.rows.var: row, self.matrix.columns.var: column}
        return self.matrix.anchored.store(tir.BufferLoad(self.sums, (at,)), places)

    def _strip_count(self) -> PrimExpr:
        return ceil_div(ops.subtract(self.end, self.start), i64(self.strip))

    def _strips(self, tiles: EvenTiles, k: PrimExpr) -> st.Stmt:
        """Add the terms of the rows of B from `k` on, for one strip of the block after another."""
        number = index_var("strip")
        even = self.depth % self.steps == 0
        steps = i64(self.steps) if even else ops.min(i64(self.steps), ops.subtract(i64(self.depth), k))

        def strip(at: PrimExpr, width: int, masked: bool) -> st.Stmt:
            after = ops.add(at, i64(self.strip))
            last = tir.GE(after, self.end)
            later = where(last, ops.add(k, i64(self.steps)), k)

            def prefetching(row: PrimExpr, column: PrimExpr) -> st.Stmt:
                one = _Strip(k, steps, at, width, masked, row, column)

                def every(heights: EvenTiles) -> st.Stmt:
                    return heights.each(lambda rows, first, _: self._tile(one, rows, first))

                low = (masked or width < self.strip) and self.matrix.rows.size is None and self.columns > self.strip
                tallest = max(TALLEST_LAST, SUMS_LAST * self.shape.lanes // width)
                return even_tiles(self.rows, min(tallest, self.tallest), every) if low else every(tiles)

            column = where(last, self.start, after)
            return named("later", later, lambda row: named("ahead", column, lambda ahead: prefetching(row, ahead)))

        rest, grain = self.columns % self.strip, self.shape.grain
        tail = -(-rest // grain) * grain

        def at(start: PrimExpr) -> st.Stmt:
            if not rest:
                return strip(start, self.strip, False)
            if self.columns < self.strip:
                return strip(start, tail, tail != rest)
            inside = tir.LE(ops.add(start, i64(self.strip)), i64(self.columns))
            return st.IfThenElse(inside, strip(start, self.strip, False), strip(start, tail, tail != rest))

        place = ops.add(self.start, ops.multiply(number, i64(self.strip)))
        return loop(number, self._strip_count(), named("at", place, at))

    def _tile(self, strip: _Strip, rows: int, first: PrimExpr) -> st.Stmt:
        """Add the terms of a strip for `rows` rows from `first` on."""
        acc = Accumulators.of(rows, strip.width, self.matrix.stage.buffer.dtype)
        init = self.matrix.stage.init
        assert init is not None
        corner = index_var("corner")

        def place(row: int, lane: PrimExpr) -> PrimExpr:
            return ops.add(ops.add(corner, ops.multiply(i64(row), self.width)), lane)

        def stored(row: int) -> st.Stmt:
            v = index_var("v")
            return loop(v, acc.width, st.BufferStore(self.sums, acc.load(row, v), (place(row, v),)), VECTORIZED)

        terms = unrolled_by(steps_of_k(), strip.steps, "k", lambda step: self._terms(strip, acc, first, step))
        if self.blocks == 1:
            zeros = acc.each(lambda row, lane: init)
            return allocated(
                acc.buffer,
                sequence(zeros, terms, write_out(self.matrix, acc, self._row(first), strip.start, strip.masked)),
            )
        loaded = acc.each(lambda row, lane: tir.BufferLoad(self.sums, (place(row, lane),)))
        body = allocated(acc.buffer, sequence(loaded, terms, *(stored(row) for row in range(rows))))
        return st.LetStmt(corner, self._sum(first, ops.subtract(strip.start, self.start)), body)

    def _terms(self, strip: _Strip, acc: Accumulators, first: PrimExpr, step: PrimExpr) -> st.Stmt:
        """Prefetch one row of B in the next strip, then use the same row in this one."""
        matrix, end, k = self.matrix, i64(self.columns), ops.add(strip.k, step)
        source, begin = matrix.right, self._row(first)
        assert source is not None

        def left(row: int) -> PrimExpr:
            return bound(matrix.left, {matrix.k: k, matrix.rows: ops.add(begin, i64(row))})

        def right(lane: tir.Var) -> PrimExpr:
            column = ops.add(strip.start, lane)
            value = bound(source, {matrix.k: k, matrix.columns: column})
            return where(tir.LT(column, end), value, ops.const(0, acc.buffer.dtype)) if strip.masked else value

        terms = acc.add_products(left, right)
        if self.columns <= self.strip and self.blocks == 1:
            return terms  # there is nothing else to prefetch
        asked = []
        deep = index_var("deep")
        for lane in range(0, self.strip, self.shape.lanes):
            column = ops.add(strip.ahead, i64(lane))
            if self.columns % self.strip:
                column = ops.min(column, i64(self.columns - 1))
            asked.append(prefetched(load_of(bound(source, {matrix.k: deep, matrix.columns: column})), near=False))
        row = ops.min(ops.add(strip.later, step), i64(self.depth - 1))
        return sequence(st.LetStmt(deep, row, sequence(*asked)), terms)
