"""Find matrix products among the stages of a kernel: which axes are rows, columns and k, and what the factors are.

C[batch.., i, j] = sum over k of A[batch.., i, k] * B[batch.., k, j]      (any layout; elementwise stages after it)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.shared.affine import depends, merge_pair
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor
from baton._src.lower.kernel_schedules.shared.factors import is_simple
from baton._src.lower.kernel_schedules.shared.loops import constant, product
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer


@dataclass(frozen=True)
class Product:
    """The parts of a matrix product: axes by role, and its two factors as expressions over them."""

    anchored: Anchored
    batch: tuple[Axis, ...]
    outer: tuple[Axis, ...]
    """Row axes before the last one: axes of A and C, not of B."""
    rows: Axis
    columns: Axis
    k: Axis
    left: PrimExpr
    right: PrimExpr | None
    """The right factor, if it is loaded where it is needed; None if `pack` provides it."""
    pack: Callable[[Buffer, PrimExpr, int], st.Stmt] | None = None
    """Emit the packed panel of `width` columns from a given column on."""
    transposed: Callable[[Buffer], st.Stmt] | None = None
    """Emit all columns, one after the other, each along k."""
    whole: Anchored | None = None
    """The original stages of the kernel that this replaces, if they differ from `anchored`."""
    least_rows: int = 1
    """At least this many rows: fewer are handled by a different schedule."""

    @property
    def origin(self) -> Anchored:
        return self.whole or self.anchored

    @property
    def stage(self) -> Stage:
        return self.anchored.stage

    @property
    def has_one_row_axis(self) -> bool:
        """Whether all row axes but the last have extent 1."""
        return all(a.size == 1 for a in self.outer)

    @property
    def row_count(self) -> int | None:
        """Rows per batch, if known."""
        return constant(product([a.extent for a in (*self.outer, self.rows)]))


def find_product(kernel: Kernel) -> Product | None:
    """Return the first stage that is a matrix product, with its epilogue."""
    found = find_anchor(kernel, lambda s: not isinstance(as_product(Anchored(s, None)), Declined))
    matrix = None if found is None else as_product(found)
    return None if isinstance(matrix, Declined) else matrix


def merged_rows(matrix: Product) -> Product:
    """Return `matrix` with its row axes merged as far as they are contiguous in A and C, so that tiles can span
    them.
    """
    while not matrix.has_one_row_axis:
        stage, epilogue = matrix.stage, matrix.anchored.epilogue
        place = stage.spatial.index(matrix.rows)
        if place == 0 or stage.spatial[place - 1] not in matrix.outer:
            break
        merged = merge_pair(stage, stage.spatial[place - 1], stage.spatial[place])
        after = None if epilogue is None else merge_pair(epilogue, *epilogue.spatial[place - 1 : place + 1])
        if merged is None or (epilogue is not None and after is None):
            break
        found = as_product(Anchored(merged, after))
        if isinstance(found, Declined):
            break
        matrix = found
    return matrix


def renamed(matrix: Product) -> Product:
    """Return the same product over fresh axes, so that it can occur a second time in a kernel."""
    stage, epilogue = matrix.stage.renamed(), matrix.anchored.epilogue
    found = as_product(Anchored(stage, None if epilogue is None else epilogue.renamed()))
    assert isinstance(found, Product)
    return found


def first_columns(matrix: Product, count: int) -> Product:
    """Return the product restricted to its first `count` columns."""
    return _with_extent(matrix, matrix.columns, count)


def exactly(matrix: Product, count: int) -> Product:
    """Return the product restricted to `count` rows, for code that runs only if there are exactly so many."""
    return _with_extent(matrix, matrix.rows, count)


def _with_extent(matrix: Product, axis: Axis, count: int) -> Product:
    """Return the product with another extent of one axis."""
    stage, epilogue = matrix.stage, matrix.anchored.epilogue
    place = stage.spatial.index(axis)

    def shorter(stage: Stage) -> Stage:
        own = stage.spatial[place]
        fewer = Axis(own.var, tir.IntImm(own.var.dtype, count))
        return replace(stage, spatial=(*stage.spatial[:place], fewer, *stage.spatial[place + 1 :]))

    found = as_product(Anchored(shorter(stage), None if epilogue is None else shorter(epilogue)))
    assert isinstance(found, Product)
    return found


def as_product(anchored: Anchored) -> Product | Declined:
    """The stage as a product of matrices, or why it is none."""
    stage = anchored.stage
    if stage.combiner is not tir.Add or len(stage.reduce) != 1 or len(stage.spatial) < 2:
        return Declined("not a sum over one axis")
    if not isinstance(stage.value, tir.Mul):
        return Declined("the terms are not products")
    k, columns = stage.reduce[0], stage.spatial[-1]
    left, right = stage.value.a, stage.value.b
    if depends(left, columns.var):
        left, right = right, left
    if depends(left, columns.var) or not (depends(left, k.var) and depends(right, k.var)):
        return Declined("the factors share the columns")
    batch = tuple(a for a in stage.spatial[:-1] if depends(right, a.var))
    free = tuple(a for a in stage.spatial[:-1] if a not in batch)
    if not free or not depends(right, columns.var) or not all(depends(left, a.var) for a in free if a.size != 1):
        return Declined("a factor does not vary with the rows or columns")
    rows = max(free, key=lambda a: (a.size != 1, stage.spatial.index(a)))
    outer = tuple(a for a in free if a is not rows)
    if not (is_simple(left) and is_simple(right)):
        return Declined("a factor is computed, not loaded")
    return Product(anchored, batch, outer, rows, columns, k, left, right)
