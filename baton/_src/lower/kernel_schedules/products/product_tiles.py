"""The register tile of a product with packed panels: how many vectors wide a panel is, and how tall its tiles are.

An element of A is loaded once for all vectors of its row, so of two tiles with as many sums the wider one loads less:
8 rows of 3 vectors take 11 loads for 24 multiply-adds, 12 of 2 take 14. A core that issues two multiply-adds a cycle
has two loads a cycle as well, which prefetches and what another hardware thread loads share (Emerald Rapids beside a
busy neighbour, 128x768x768: 142 to 160 GFLOP/s; alone, both reach the peak). Panels of three vectors must fit the
columns, and threads must find as many of them as with two. With 16 registers a tile of three vectors has 4 rows, and
reads more of B: it serves an A that comes from beyond the second-level cache, which it reads for fewer panels (Zen 3:
1024x1024x1024 0.85, 512x768x768 0.93, 512x768x3072 0.85 of the time; 128x768x768 no less).
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.row_tiles import rows_in_place
from baton._src.lower.kernel_schedules.products.tiles import TileShape, tile_shape
from baton._src.lower.kernel_schedules.shared.factors import load_of

LOAD = 0.4
"""What a load costs of a multiply-add."""
WIDER = 3
"""Vectors of a wide panel."""
SECOND_SET = 0.9
"""What panels of two widths may take at most of the time of panels of one: where rows are unknown, each width has tiles
of all heights, and the kernel compiles in almost twice the time.
"""


def shape_for(matrix: Product, target: Target) -> TileShape:
    """Choose tiles as tall as registers allow and such that their rows of A fit in the first-level cache."""
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    if _widens(matrix, shape, target):
        shape = replace(shape, rows=shape.rows * shape.vectors // WIDER, vectors=WIDER)
    return replace(shape, rows=min(shape.rows, rows_in_place(matrix)))


def _widens(matrix: Product, shape: TileShape, target: Target) -> bool:
    """Whether wider panels take less time; with all rows in one tile each panel is read once, however wide."""
    columns, rows = matrix.columns.size, matrix.rows.size
    if columns is None or shape.vectors >= WIDER:
        return False
    if shape.registers < 32 and not _is_far(matrix, target):
        return False
    if rows is not None and shape.rows * shape.vectors // WIDER < rows <= shape.rows:
        return False
    sums, vectors = shape.rows * shape.vectors, -(-columns // shape.lanes)
    takes_a_second_set = rows is None and vectors % WIDER != 0 and vectors % shape.vectors == 0
    least = _time(vectors, shape.vectors, sums, target.num_cores) * (SECOND_SET if takes_a_second_set else 1)
    return _time(vectors, WIDER, sums, target.num_cores) < least


def _is_far(matrix: Product, target: Target) -> bool:
    """Whether all of A is known to be larger than the second-level cache."""
    rows, terms = matrix.row_count, matrix.k.size
    if rows is None or terms is None:
        return False
    return rows * terms * load_of(matrix.left).dtype.itemsize > target.cpu.l2_bytes


def _time(vectors: int, width: int, sums: int, threads: int) -> float:
    """What the thread with most work takes for a row of so many vectors, in multiply-adds; threads take as many panels,
    a narrower one last.
    """
    whole, rest = divmod(vectors, width)
    panels = [_panel(width, sums)] * whole + ([_panel(rest, sums)] if rest else [])
    return max(sum(panels[first::threads]) for first in range(max(1, threads)))


def _panel(width: int, sums: int) -> float:
    """The same for one panel: its multiply-adds, and the loads of B shared by the rows of a tile."""
    rows = sums // width
    return width + LOAD * (1 + width / rows)
