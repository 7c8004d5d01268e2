"""Find the parameter of a kernel that can be packed at compile time, and the panels of packed ones."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products import short_sums
from baton._src.lower.kernel_schedules.products.last_columns import last_columns
from baton._src.lower.kernel_schedules.products.panel_packing import Ahead, panel_prefetches
from baton._src.lower.kernel_schedules.products.product_tiles import shape_for
from baton._src.lower.kernel_schedules.products.products import Product, find_product, merged_rows
from baton._src.lower.kernel_schedules.shared.factors import is_converted_once, load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    constant,
    i64,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, read_kernel
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType

HALVES = (DataType("float16"), DataType("bfloat16"))


@dataclass(frozen=True)
class Weight:
    """A parameter of a kernel that could be packed: its index, whether its layout is (n, k), and the width of a panel.

    If `gates` is not 0, the columns form that many groups, and a panel has `width` columns of each (see `recurrence`).
    """

    place: int
    buffer: Buffer
    load: tir.BufferLoad
    columns_first: bool
    width: int
    gates: int = 0
    group: int = 1
    """So many neighbours along k lie side by side (`dot_products`)."""


def packable_weight(func: PrimFunc, target: Target) -> Weight | None:
    """The right factor of the product in `func`, if it is a matrix parameter that nothing else reads; else None."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return None
    matrix = find_product(inline_elementwise(kernel))
    if matrix is None or matrix.right is None or matrix.batch:
        return None
    if short_sums.suits(matrix, target):
        return None
    last = last_columns(matrix, target)
    if last is not None and last.are_all and (matrix.row_count is not None or last.least_rows == 1):
        return None  # columns are not vectorised
    load = load_of(matrix.right)
    inputs = [func.buffer_map.get(p) for p in func.params]
    size = matrix.columns.size
    if load.buffer not in inputs or len(load.indices) != 2 or size is None or matrix.k.size is None:
        return None
    if not is_whole(load, matrix.k, matrix.columns):
        return None
    if load.buffer.dtype not in (matrix.stage.buffer.dtype, *HALVES) or not is_converted_once(matrix.right):
        return None
    shape = shape_for(merged_rows(matrix), target)
    width = shape.lanes * max(1, min(shape.vectors, -(-size // shape.lanes)))
    return Weight(inputs.index(load.buffer), load.buffer, load, load.indices[0] is matrix.columns.var, width)


def is_whole(load: tir.BufferLoad, *axes: Axis) -> bool:
    """Whether a load goes over all of its buffer, by the axes in some order."""
    sizes: dict[PrimExpr, int | None] = {a.var: a.size for a in axes}
    if len(load.indices) != len(axes) or set(load.indices) != set(sizes):
        return False
    return all(sizes[index] == constant(dim) for index, dim in zip(load.indices, load.buffer.shape))


def panel_width(load: PrimExpr | None, columns: tir.Var, k: tir.Var) -> int | None:
    """The width of the panels if a factor is read from packed panels; else 0."""
    if load is None or not is_converted_once(load):
        return None
    load = load_of(load)
    if len(load.indices) != 3:
        return None
    match load.indices:
        case (
            tir.FloorDiv(a=a, b=tir.IntImm(value=width)),
            tir.Var() as row,
            tir.FloorMod(a=b, b=tir.IntImm(value=same)),
        ):
            whole = a is columns and b is columns and row is k and width == same
            return width if whole and constant(load.buffer.shape[2]) == width else None
        case _:
            return None


@dataclass(frozen=True)
class Panels:
    """A product whose weights are stored panel by panel."""

    matrix: Product
    width: int
    lanes: int

    @property
    def count(self) -> int:
        return -(-(self.matrix.columns.size or 0) // self.width)

    @property
    def dtype(self) -> DataType:
        return self.panel(i64(0)).dtype

    def panel(self, number: PrimExpr) -> Buffer:
        """One panel as a vector of k * width elements."""
        depth = self.matrix.k.size or 0
        return self.part(ops.multiply(number, i64(depth * self.width)), depth)

    def part(self, start: PrimExpr, terms: int) -> Buffer:
        """The elements of so many terms of a panel, of which `start` is the first, as a vector."""
        assert self.matrix.right is not None
        whole = load_of(self.matrix.right).buffer
        return Buffer(whole.data, whole.dtype, (i64(terms * self.width),), (), start, whole.name)

    def ahead(self, number: PrimExpr, further: int) -> Ahead:
        """Tiles prefetch the panel `further` positions later."""
        later = self.panel(ops.min(ops.add(number, i64(further)), i64(self.count - 1)))
        return panel_prefetches(later, self.matrix.k.size or 1, self.width)
