"""The loops of a product with a sparse matrix, S xᵀ: row by row of S, over the elements that are there.

total = 0
for e in begins[block] .. begins[block + 1], for j < wide:
    total += values[e, i, j] * x[m, places[e] * wide + j]          for 64 or 16 m at once, or i of a block
found[block * high + i, m] = total
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, lets, load, local, loop, store
from baton._src.ops.vector_loops import in_parts, lane_loop, over_rows
from baton._src.support.dataclass import dataclass
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt

ROWS = (64, 16, 1)
"""How many rows of x at once, if these are many."""
HIGH = (16, 8, 4, 1)
"""How many rows of a block at once, if rows of x are few."""
ROW_STEPS = 1024
"""What a row of blocks is taken to cost; how many elements it has, a run tells."""
Place = Callable[[PrimExpr], tuple[PrimExpr, PrimExpr]]
"""The row i of a block and the row m of x, of a lane."""


@dataclass(frozen=True)
class SparseProduct:
    """`values` are elements or blocks (count, high, wide), `places` the columns, `begins` where rows begin; `found` is
    (n, m). With `few` rows, x is as it is, else transposed, (k, m).
    """

    x: Buffer
    values: Buffer
    places: Buffer
    begins: Buffer
    found: Buffer
    few: bool

    @property
    def block(self) -> tuple[PrimExpr, PrimExpr]:
        """The extents of a block."""
        if len(self.values.shape) == 1:
            return k.index(1), k.index(1)
        _, high, wide = self.values.shape
        return high, wide

    def loops(self) -> Stmt:
        """All rows of blocks, in parallel."""

        def bounded(row: PrimExpr) -> Stmt:
            ends = [(name, self._begin(row + k.index(n))) for n, name in enumerate(("low", "end"))]
            return lets(ends, lambda low, end: self._row(row, low, end))

        return over_rows((self.begins.shape[0] - k.index(1),), ROW_STEPS, lambda at: bounded(at[0]))

    def _begin(self, row: PrimExpr) -> PrimExpr:
        return k.cast("int64", load(self.begins, row))

    def _row(self, row: PrimExpr, low: PrimExpr, end: PrimExpr) -> Stmt:
        """A row of blocks, whose elements are `low` to `end`."""
        high, _ = self.block
        rows = self.found.shape[1]

        def sums(lanes: int, place: Place) -> Stmt:
            return self._sums(lanes, row, (low, end), place)

        if self.few:
            return loop(rows, lambda m: in_parts(high, HIGH, lambda i, n: sums(n, lambda lane: (i + lane, m))), "m")
        return loop(high, lambda i: in_parts(rows, ROWS, lambda m, n: sums(n, lambda lane: (i, m + lane))), "i")

    def _sums(self, lanes: int, row: PrimExpr, ends: tuple[PrimExpr, PrimExpr], place: Place) -> Stmt:
        """`lanes` results, which stay in registers."""
        (low, end), (high, wide), dtype = ends, self.block, self.found.dtype

        def written(total: Buffer, lane: PrimExpr) -> Stmt:
            i, m = place(lane)
            return store(self.found, (row * high + i, m), load(total, lane))

        def summed(total: Buffer) -> Stmt:
            return both(
                lane_loop(lanes, lambda lane: store(total, (lane,), k.const(0, dtype))),
                loop(end - low, lambda e: loop(wide, lambda j: self._added(total, lanes, low + e, j, place), "j"), "e"),
                lane_loop(lanes, lambda lane: written(total, lane)),
            )

        return local("total", (lanes,), dtype, summed)

    def _added(self, total: Buffer, lanes: int, e: PrimExpr, j: PrimExpr, place: Place) -> Stmt:
        """Add the terms of one element, or of column j of a block."""
        column = k.cast("int64", load(self.places, e)) * self.block[1] + j

        def add(lane: PrimExpr) -> Stmt:
            i, m = place(lane)
            value = load(self.values, e, i, j) if len(self.values.shape) == 3 else load(self.values, e)
            other = load(self.x, m, column) if self.few else load(self.x, column, m)
            term = k.cast(total.dtype, value) * k.cast(total.dtype, other)
            return store(total, (lane,), load(total, lane) + term)

        return lane_loop(lanes, add)
