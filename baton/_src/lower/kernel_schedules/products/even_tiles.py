"""Split a number of rows known only at run time into tiles of nearly equal heights, with code for each height."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.products.panel_packing import where
from baton._src.lower.kernel_schedules.shared.loops import (
    constant,
    i64,
    index_var,
    loop,
    named,
    sequence,
)
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

EachTile = Callable[[int, PrimExpr, PrimExpr], st.Stmt]
"""Makes one of several tiles: its rows, the first of them, and its number."""


@dataclass(frozen=True)
class EvenTiles:
    """`rows` split into as few tiles of at most `tallest` rows as possible: first `taller` tiles of `low` + 1 rows,
    then tiles of `low` rows.
    """

    tallest: int
    tiles: PrimExpr
    low: PrimExpr
    taller: PrimExpr
    least: int = 1
    """`rows` is at least this."""

    def each(self, make: EachTile) -> st.Stmt:
        """Loop over all tiles, from the first to the last."""
        known = [constant(e) for e in (self.tiles, self.low, self.taller)]
        if None not in known:
            tiles, low, taller = (n or 0 for n in known)
            runs = [(low + 1, taller, 0, 0), (low, tiles - taller, taller * (low + 1), taller)]
            return sequence(*(_run(make, rows, *map(i64, run)) for rows, *run in runs if run[0] and rows))
        parts = []
        lowest = min(self.least, (self.tallest + 1) // 2)  # half of one row too many for one tile
        for height in range(self.tallest, lowest - 1, -1):
            is_low, is_tall = tir.EQ(self.low, i64(height)), tir.EQ(self.low, i64(height - 1))
            number = where(is_low, ops.subtract(self.tiles, self.taller), where(is_tall, self.taller, i64(0)))
            before = where(is_low, self.taller, i64(0))
            parts.append(_run(make, height, number, ops.multiply(before, i64(height + 1)), before))
        return sequence(*parts)


def even_tiles(rows: PrimExpr, tallest: int, body: Callable[[EvenTiles], st.Stmt], *, least: int = 1) -> st.Stmt:
    """`body` of an unknown number of rows (at least `least`) split into even tiles, whose counts are computed first."""
    fewest = ops.max(ops.floordiv(ops.add(rows, i64(tallest - 1)), i64(tallest)), i64(1))

    def of(tiles: PrimExpr) -> st.Stmt:
        def with_low(low: PrimExpr) -> st.Stmt:
            rest = ops.subtract(rows, ops.multiply(low, tiles))
            return named("taller", rest, lambda taller: body(EvenTiles(tallest, tiles, low, taller, least)))

        return named("low", ops.floordiv(rows, tiles), with_low)

    return named("tiles", fewest, of)


def _run(make: EachTile, rows: int, count: PrimExpr, above: PrimExpr, before: PrimExpr) -> st.Stmt:
    """`count` tiles of `rows` rows from row `above` on; `before` other tiles precede them."""
    tile = index_var("tile")
    place = ops.add(above, ops.multiply(tile, i64(rows)))
    return loop(tile, count, named("row", place, lambda row: make(rows, row, ops.add(before, tile))))
