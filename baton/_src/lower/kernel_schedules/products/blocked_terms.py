"""Long sums in blocks of terms, for which a slice of a packed panel stays in the first-level cache.

A tile reads its rows of A and the whole panel. Where sums are long, all rows of A, this panel and the prefetched next
one are more than the second-level cache holds, and each tile reads from further away. So all tiles of rows go through
one slice of the panel before the next slice begins: A is still read once for each panel, the slice stays in L1, and
what is read ahead is one slice. Between slices the sums of a panel's tiles are kept in a scratch.

Where not even a block of rows fits in the second-level cache, it would be streamed once per panel. There a slice of
several panels is taken before the next one, so that the rows' slice stays in that cache for all of them.
"""

from __future__ import annotations

from functools import partial

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.packed_weights import Panels
from baton._src.lower.kernel_schedules.products.panel_groups import shareable_sizes
from baton._src.lower.kernel_schedules.products.panel_packing import Ahead, Beside, panel_prefetches, where
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.row_tiles import add_terms, panel_tiles
from baton._src.lower.kernel_schedules.products.rows_ahead import Prefetches
from baton._src.lower.kernel_schedules.products.sharing import BLOCK_ROWS
from baton._src.lower.kernel_schedules.products.tile_results import asked_results, write_out
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, TileShape
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

FEWEST_ROWS = 24
"""A slice is worth reading into L1 for as many tiles as these rows make."""
SLICE = 0.75
"""Share of the first-level cache for a slice of a panel beside the rows' slices."""
A_CACHES = 1.5
"""An A that is larger than so many second-level caches is read from further away."""


def terms_of_block(panels: Panels, target: Target) -> int:
    """How many terms a block has; 0 for sums that are not cut in blocks: the second-level cache holds A and two panels,
    or A comes from further away for each panel anyway. A kernel for any number of rows is for small A's, too.
    """
    matrix, cpu = panels.matrix, target.cpu
    terms, rows, itemsize = matrix.k.size, matrix.row_count, load_of(matrix.left).dtype.itemsize
    if terms is None or rows is None or rows < FEWEST_ROWS or not matrix.has_one_row_axis:
        return 0
    blocks = -(-terms * panels.width * itemsize // cpu.l1_bytes)
    even, line = -(-terms // blocks), terms * itemsize
    pays = rows * line < A_CACHES * cpu.l2_bytes and (rows + 2 * panels.width) * line > cpu.l2_bytes
    return tuned("terms_of_block", even if pays and blocks > 1 else 0, (0, even))


def far_blocks(panels: Panels, target: Target) -> tuple[int, int]:
    """How many panels take turns, and how many terms a block of them has, where rows are unknown and the second-level
    cache does not hold a block of rows; else 1 and 0. In 32 registers, whose tiles read less, this is not measured.
    """
    matrix, cpu = panels.matrix, target.cpu
    terms, columns, itemsize = matrix.k.size, matrix.columns.size, load_of(matrix.left).dtype.itemsize
    if terms is None or columns is None or matrix.row_count is not None or not matrix.has_one_row_axis:
        return 1, 0
    if cpu.vector_registers >= 32 or BLOCK_ROWS * terms * itemsize <= cpu.l2_bytes:
        return 1, 0
    sizes = shareable_sizes(columns, panels.width, target)
    blocks = -(-terms * panels.width * itemsize // int(SLICE * cpu.l1_bytes))
    return (sizes[0], -(-terms // blocks)) if sizes else (1, 0)


@dataclass(frozen=True)
class Blocks:
    """The panel `number`, whose elements are `packed`, in blocks of `terms` terms; the last one may have fewer. It is
    the one for `turn` of several `together`.
    """

    panels: Panels
    number: PrimExpr
    packed: Buffer
    terms: int
    turn: tir.Var
    together: int = 1

    @property
    def depth(self) -> int:
        return self.panels.matrix.k.size or 0

    @property
    def count(self) -> int:
        return -(-self.depth // self.terms)

    def tiles(self, shape: TileShape, first: PrimExpr, count: PrimExpr) -> st.Stmt:
        """All tiles of `count` rows from `first` on, block after block."""
        matrix, width, block = self.panels.matrix, self.panels.width, index_var("block")
        size = ops.multiply(count, i64(width))
        sums = local_buffer("sums", (ops.multiply(size, i64(self.together)),), matrix.stage.buffer.dtype)
        begin = ops.multiply(size, self.turn) if self.together > 1 else i64(0)
        kind = partial(self._tile, block=block, sums=sums, begin=begin, above=first, steps=shape.steps)
        ahead = self._ahead(block)
        every = panel_tiles(
            matrix, shape, width, self.number, first, count, self.packed, Prefetches(ahead, ahead, 0), kind
        )
        if self.together > 1:
            every = loop(self.turn, self.together, every)
        return allocated(sums, loop(block, self.count, every))

    def _ahead(self, block: tir.Var) -> Ahead:
        """Tiles prefetch the next slice: of the next panel or, after the last of those that take turns, the next slice
        of the first one.
        """
        width, ends = self.panels.width, tir.EQ(self.turn, i64(self.together - 1))
        later = ops.min(ops.add(self.number, i64(1)), i64(self.panels.count - 1))
        is_last = tir.EQ(block, i64(self.count - 1))
        after = where(is_last, i64(0), ops.add(block, i64(1)))
        if self.together == 1:
            panel, slice_ = where(is_last, later, self.number), after
        else:
            back = ops.subtract(self.number, i64(self.together - 1))
            panel, slice_ = where(tir.And(ends, tir.Not(is_last)), back, later), where(ends, after, block)
        begin = ops.add(ops.multiply(panel, i64(self.depth)), ops.multiply(slice_, i64(self.terms)))
        return panel_prefetches(self.panels.part(ops.multiply(begin, i64(width)), self.terms), self.terms, width)

    def _tile(
        self,
        matrix: Product,
        rows: int,
        width: int,
        first: PrimExpr,
        start: PrimExpr,
        packed: Buffer,
        beside: Beside | None = None,
        *,
        block: tir.Var,
        sums: Buffer,
        begin: PrimExpr,
        above: PrimExpr,
        pitch: int,
        masked: bool | None,
        steps: int,
    ) -> st.Stmt:
        """One block of the sums of a tile: begun, or gone on with from the scratch; kept there, or written."""
        acc = Accumulators.of(rows, width, matrix.stage.buffer.dtype)
        assert matrix.stage.init is not None
        init = matrix.stage.init
        row = ops.subtract(first, above)

        def kept(number: int, lane: tir.Var) -> PrimExpr:
            return ops.add(begin, ops.add(ops.multiply(ops.add(row, i64(number)), i64(pitch)), lane))

        def keep(number: int) -> st.Stmt:
            lane = index_var("v")
            store = st.BufferStore(sums, acc.load(number, lane), (kept(number, lane),))
            return loop(lane, width, store, VECTORIZED)

        is_first, is_last = tir.EQ(block, i64(0)), tir.EQ(block, i64(self.count - 1))
        clear = acc.each(lambda number, lane: init)
        resume = acc.each(lambda number, lane: tir.BufferLoad(sums, (kept(number, lane),)))
        asked = asked_results(matrix, rows, width, first, start)
        body = sequence(
            *([st.IfThenElse(is_last, sequence(*asked))] if asked else []),
            st.IfThenElse(is_first, clear, resume),
            add_terms(acc, matrix, first, packed, pitch, beside, steps, *self._terms(block)),
            st.IfThenElse(
                is_last,
                write_out(matrix, acc, first, start, masked),
                sequence(*(keep(number) for number in range(rows))),
            ),
        )
        return allocated(acc.buffer, body)

    def _terms(self, block: tir.Var) -> tuple[PrimExpr, PrimExpr]:
        """How many terms come before a block, and how many it has."""
        done = ops.multiply(block, i64(self.terms))
        if self.depth % self.terms == 0:
            return done, i64(self.terms)
        return done, ops.min(i64(self.terms), ops.subtract(i64(self.depth), done))
