"""Columns too few to fill half a vector: all columns of a narrow product, or the last ones (the ninth of 9, the 17th of
17).

An extra half vector costs the same for one column as for eight. Dot products along k cost the same for every column:
one vector multiply-add per vector of terms, and a few instructions to add up the lanes at the end. If B is (k, n), each
of its elements must also be transposed once. The cheaper way is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.products import Product, first_columns, renamed
from baton._src.lower.kernel_schedules.products.row_dots import adds_up, dot_tiles
from baton._src.lower.kernel_schedules.products.tiles import TileShape, tile_shape
from baton._src.lower.kernel_schedules.products.transposed_columns import transposes_by_squares
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import constant, i64, product, sequence
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st

NARROW = 8
"""Half vectors of columns up to which saving one counts, where half vectors cost half or the number of rows is unknown:
a kernel for any number of rows contains both ways.
"""
LONG = 256
"""Assumed number of terms of a sum, when it is unknown."""
ADDING_UP, ADDING_UP_HALVES = 1.6, 2.5
"""Cost of adding up the lanes of a result, in vector multiply-adds; the second is for processors where half vectors are
cheaper than whole ones, which have fewer shuffle units.
"""
TURNING, GATHERING = 0.5, 1.3
"""Cost of transposing an element of B so that k is contiguous: by shuffles within vectors, or one by one."""
EXCHANGED = 8
"""Largest stride along k for which the code generator loads whole vectors (`codegen.llvm.strided`)."""
HALF = 0.1
"""Cost of half a vector beyond half of a whole one: its loads and broadcasts serve fewer multiply-adds."""
ALONE, BESIDE, MOST_BESIDE = 1 / 32, 1 / 8, 0.35
"""What dot products must save where half vectors cost as much as whole ones: `ALONE` of all multiply-adds if they
compute every column; if they compute the last columns in a second pass over A, `BESIDE` of all, but at most
`MOST_BESIDE` of those of one vector.
"""
LEAST_ROWS = 12
"""Fewer rows are not worth a second pass over A."""
TRANSPOSED = 1 << 15
"""Most elements of a batch of (k, n) factors that are worth transposing: they share the cache with the rows of A."""


@dataclass(frozen=True)
class LastColumns:
    """The columns to compute as dot products, when there are at least `least_rows` rows."""

    columns: range
    least_rows: int

    @property
    def are_all(self) -> bool:
        return self.columns.start == 0


def last_columns(matrix: Product, target: Target) -> LastColumns | None:
    """The columns that are cheaper as dot products, given the number of rows, if it is known."""
    shape, size = tile_shape(target, matrix.stage.buffer.dtype), matrix.columns.size
    if size is None or matrix.right is None or not adds_up(matrix, target):
        return None
    if size >= NARROW * shape.grain and (shape.halves or matrix.row_count is None):
        return None
    rest, depth = size % shape.grain, matrix.k.size or LONG
    stride = step(load_of(matrix.right), matrix.k)
    along = stride == 1
    if rest == 0 or not (along or _turns(matrix, rest)):
        return None
    each = cost_of_dots(depth, shape)
    beside = ALONE if rest == size else min(BESIDE * _vectors(size, shape), MOST_BESIDE)
    worth = 0 if shape.halves else depth * beside
    gain = depth * (_vectors(size, shape) - _vectors(size - rest, shape)) - rest * each
    if gain <= worth:
        return None
    by_vectors = stride in range(EXCHANGED + 1) or transposes_by_squares(matrix, rest, shape.lanes)
    moving = 0 if along else TURNING if by_vectors else GATHERING
    least = max(1, ceil(moving * depth * rest / gain))
    found = LastColumns(range(size - rest, size), least if rest == size else max(least, LEAST_ROWS))
    count = matrix.row_count
    return found if count is None or count >= found.least_rows else None


def cost_of_dots(terms: int, shape: TileShape) -> float:
    """Vector multiply-adds that a sum of so many terms takes as a dot product."""
    return ceil(terms / shape.lanes) + (ADDING_UP_HALVES if shape.halves else ADDING_UP)


def _turns(matrix: Product, columns: int) -> bool:
    """Whether the last columns of a B of layout (k, n) may be transposed: of a batch, if they find room in a cache."""
    batches = constant(product([a.extent for a in matrix.batch]))
    if matrix.k.size is None or batches is None:
        return matrix.k.size is not None and not matrix.batch
    return not matrix.batch or batches * columns * matrix.k.size <= TRANSPOSED


def _vectors(columns: int, shape: TileShape) -> float:
    """Vector multiply-adds that one term of each of so many columns takes."""
    grains, per_vector = -(-columns // shape.grain), shape.lanes // shape.grain
    whole, half = divmod(grains, per_vector)
    return whole + (half / per_vector + HALF if half else 0)


def with_last_columns(
    matrix: Product, target: Target, last: LastColumns | None, emit: Callable[[Product], st.Stmt]
) -> st.Stmt:
    """Return `emit` of the product without its `last` columns, and the dot products for these."""
    if last is None:
        return emit(matrix)
    parts = dot_tiles(renamed(matrix), target, last.columns)
    if not last.are_all:
        parts = sequence(emit(first_columns(matrix, last.columns.start)), parts)
    if matrix.row_count is not None or last.least_rows == 1:
        return parts
    rows = product([a.extent for a in (*matrix.outer, matrix.rows)])
    return st.IfThenElse(tir.GE(rows, i64(last.least_rows)), parts, emit(renamed(matrix)))
