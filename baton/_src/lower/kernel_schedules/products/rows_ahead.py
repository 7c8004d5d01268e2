"""Prefetch rows of A while the tile before theirs is computed.

A tile reads several rows of A at once. Where A is much larger than L2, hardware prefetchers follow such streams only
within a page, and each of a dozen rows stalls again every 4 KB. So each step along k prefetches a piece of the next
tile's rows into L2. On a Zen 5, fractions of one core's peak: 4096x3072x768 with packed weights 89 to 98 %,
2048x768x3072 86 to 96 %, 3072x3072x3072 81 to 97 %. An A of only a few times L2 gains nothing, or loses 2 %.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.panel_packing import LOW, Ahead, Beside
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import i64, sequence
from baton._src.lower.kernel_schedules.shared.prefetch import prefetched
from baton._src.passes.tir.lowering.flatten_buffers import as_int64, flat_buffer, flat_index
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.values.aligned import LINE

CACHES = 6
"""An A larger than this many times the second-level cache is prefetched."""


@dataclass(frozen=True)
class Prefetches:
    """What the tiles of a panel prefetch when A has at most `most` rows, and when it has more."""

    few: Ahead | None
    many: Ahead | None
    most: int

    @property
    def differ(self) -> bool:
        return self.few is not self.many


def tile_prefetches(matrix: Product, target: Target, panel: Ahead | None, terms: int = 1) -> Prefetches:
    """Combine the prefetches of `panel` with those of the next tile's rows if A is large; a step along k has `terms`
    terms.
    """
    rows = _next_rows(matrix, terms)
    if rows is None:
        return Prefetches(panel, panel, 0)
    of_row = (matrix.k.size or 1) * load_of(matrix.left).dtype.itemsize
    return Prefetches(panel, rows if panel is None else both(panel, rows), CACHES * target.cpu.l2_bytes // of_row)


def both(panel: Ahead, rows: Ahead) -> Ahead:
    """What each of two lets the tiles do."""

    def of_tile(count: int, first: PrimExpr, tile: PrimExpr, tiles: PrimExpr) -> Beside | None:
        found = [ahead(count, first, tile, tiles) for ahead in (panel, rows)]
        besides = [beside for beside in found if beside is not None]
        return (lambda k: sequence(*(beside(k) for beside in besides))) if besides else None

    return of_tile


def _next_rows(matrix: Product, terms: int) -> Ahead | None:
    """What a tile prefetches of the rows below it; None if A is contiguous neither along k nor along rows."""
    load, depth = load_of(matrix.left), matrix.k.size
    along_rows = step(load, matrix.rows) == 1
    if depth is None or not (along_rows or (step(load, matrix.k) == 1 and step(load, matrix.rows) == depth)):
        return None
    every, line = as_int64(matrix.rows.extent), LINE // load.dtype.itemsize

    def of_tile(rows: int, first: PrimExpr, tile: PrimExpr, tiles: PrimExpr) -> Beside | None:
        if rows <= LOW:
            return None
        below = ops.min(ops.add(first, i64(rows)), ops.subtract(every, i64(rows)))
        start = load_of(bound(load, {matrix.k: i64(0), matrix.rows: below})).indices
        piece = i64(min(line, rows * terms))  # at most a cache line, so that none is skipped

        def at(k: PrimExpr) -> st.Stmt:
            if along_rows:
                places = {matrix.k: ops.multiply(k, i64(terms)), matrix.rows: ops.add(below, i64(rows - 1))}
                return prefetched(load_of(bound(load, places)), near=False)
            index = ops.add(flat_index(load.buffer, start), ops.multiply(k, piece))
            return prefetched(tir.BufferLoad(flat_buffer(load.buffer), (index,)), near=False)

        return at

    return of_tile
