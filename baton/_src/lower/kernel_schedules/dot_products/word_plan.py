"""Decide which products and convolutions use dot-product instructions, and how wide their panels of words are."""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.cpu import has_byte_dot_instruction, has_byte_dots, has_fast_bfloat16_dots
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.conv2d import find_convolution
from baton._src.lower.kernel_schedules.products.dots import BFLOAT16, INT8, Dot, dot_instruction
from baton._src.lower.kernel_schedules.products.matmul import FEW_ROWS
from baton._src.lower.kernel_schedules.products.packed_weights import Weight, is_whole
from baton._src.lower.kernel_schedules.products.products import Product, find_product, merged_rows
from baton._src.lower.kernel_schedules.products.row_tiles import (
    rows_in_place,
)
from baton._src.lower.kernel_schedules.products.tiles import TileShape, tile_shape
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.factors import is_converted_once, load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    constant,
    product,
)
from baton._src.lower.kernel_schedules.shared.stages import Declined, Kernel, read_kernel
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType


@dataclass(frozen=True)
class WordPlan:
    """A product in words: `left` and `right` are the dtypes of what is loaded; `width` the columns of a panel."""

    kernel: Kernel
    matrix: Product
    dot: Dot
    right: DataType
    shape: TileShape
    packed: bool
    """Whether B was packed at compile time."""

    @property
    def width(self) -> int:
        return self.shape.width

    @property
    def depth(self) -> int:
        return self.matrix.k.size or 0

    @property
    def words(self) -> int:
        """The number of words along k; the last one may be padded."""
        return -(-self.depth // self.dot.group)


def plan_words(func: PrimFunc, target: Target, ahead: bool = False) -> WordPlan | Declined:
    """Return the plan, or why there is none; `ahead` assumes that B will be packed."""
    lanes = target.lanes(32)
    if not (has_byte_dots(target.features, lanes) or has_fast_bfloat16_dots(target.cpu, lanes)):
        return Declined("the processor has no fast dot products of narrow numbers")
    if not any(n.dtype in (INT8, BFLOAT16) for n in post_order(func.body) if isinstance(n, tir.BufferLoad)):
        return Declined("no operand is narrow")
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    matrix = find_product(kernel)
    if matrix is None:
        found = find_convolution(kernel)
        if isinstance(found, Declined):
            return Declined("neither a product of matrices nor a convolution")
        kernel, matrix = found
    else:
        matrix = replace(merged_rows(matrix), whole=matrix.anchored)  # the replaced stages are the kernel's own
    return _in_words(kernel, matrix, target, ahead)


def _in_words(kernel: Kernel, matrix: Product, target: Target, ahead: bool) -> WordPlan | Declined:
    stage = matrix.stage
    assert isinstance(stage.value, tir.Mul)
    if not (is_converted_once(stage.value.a) and is_converted_once(stage.value.b)):
        return Declined("a factor is computed, not loaded")
    dtypes = [load_of(f).dtype for f in (stage.value.a, stage.value.b)]
    left = load_of(matrix.left)
    dtypes.remove(left.dtype)
    dot = dot_instruction(left.dtype, dtypes[0], stage.buffer.dtype, target, target.lanes(32))
    if dot is None:
        return Declined(f"no instruction multiplies {left.dtype} by {dtypes[0]} into {stage.buffer.dtype}")
    k = matrix.k.var
    lies = left.indices[-1] is k and not any(depends(i, k) for i in left.indices[:-1]) and not left.buffer.strides
    if not lies or not matrix.k.size:
        return Declined("the rows of A are not contiguous along a k of known length")
    width = _packed_width(matrix, dot.group, target.lanes(32))
    count = constant(product([a.extent for a in (*matrix.outer, matrix.rows)]))
    if width is None and not ahead and count is not None and count <= FEW_ROWS:
        return Declined("few rows: packing B costs more than it saves")
    shape = tile_shape(target, stage.buffer.dtype)
    halves = dot_instruction(left.dtype, dtypes[0], stage.buffer.dtype, target, shape.grain)
    shape = replace(shape, halves=shape.halves and halves is not None)
    vectors = _vectors(matrix, shape) if width is None else width // shape.lanes
    rows = min(shape.rows, rows_in_place(matrix), _rows_in_registers(dot, target))
    shape = replace(shape, vectors=vectors, rows=rows)
    return WordPlan(kernel, matrix, dot, dtypes[0], shape, width is not None)


def _rows_in_registers(dot: Dot, target: Target) -> int:
    """The rows of a tile for which 16 registers suffice where words of bytes are taken apart into pairs of 16 bits."""
    whole = has_byte_dot_instruction(target.features, target.lanes(32)) or target.cpu.vector_registers > 16
    return target.cpu.vector_registers if whole or dot.group != 4 else 4


def _vectors(matrix: Product, shape: TileShape) -> int:
    """Vectors in a row of a panel, as in a tile of floats (wider and lower tiles lost up to 15 % in convolutions)."""
    size = matrix.columns.size
    return shape.vectors if size is None else min(shape.vectors, -(-size // shape.lanes))


def _packed_width(matrix: Product, group: int, lanes: int) -> int | None:
    """The width of the panels if B is read from panels packed in words: all of them, in whole vectors. A program may
    have others in this form, which are packed like any matrix.
    """
    columns, k = matrix.columns.var, matrix.k.var
    if matrix.right is None or len(load_of(matrix.right).indices) != 4:
        return None
    load = load_of(matrix.right)
    _, words, wide, _ = map(constant, load.buffer.shape)
    if wide is None or wide % lanes or words != -(-(matrix.k.size or 0) // group):
        return None
    match load.indices:
        case (
            tir.FloorDiv(a=a, b=tir.IntImm(value=width)),
            tir.FloorDiv(a=c, b=tir.IntImm(value=size)),
            tir.FloorMod(a=b, b=tir.IntImm(value=same)),
            tir.FloorMod(a=d, b=tir.IntImm(value=again)),
        ) if a is columns and b is columns and c is k and d is k and width == same == wide and size == again == group:
            return width
        case _:
            return None


def packable_words(func: PrimFunc, target: Target) -> Weight | None:
    """The right factor of a product that this rule handles, if it is a matrix parameter that could be packed."""
    plan = plan_words(func, target, ahead=True)
    if isinstance(plan, Declined) or plan.packed or plan.matrix.batch:
        return None
    right, columns, k = plan.matrix.right, plan.matrix.columns, plan.matrix.k
    if right is None or columns.size is None:
        return None
    load = load_of(right)
    inputs = [func.buffer_map.get(p) for p in func.params]
    if load.buffer not in inputs or len(load.indices) != 2:
        return None
    if not is_whole(load, k, columns):
        return None
    place = inputs.index(load.buffer)
    return Weight(place, load.buffer, load, load.indices[0] is columns.var, plan.width, group=plan.dot.group)
