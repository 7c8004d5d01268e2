"""Blocks of space and the batch: nn.space_to_batch_nd, nn.batch_to_space_nd; and contrib_reverse_reshape.

    space_to_batch_nd  pads the spatial axes, then moves every place within a block of them into the batch
    batch_to_space_nd  the other way round, then crops

The data is (batch, spatial..., rest...), with as many spatial axes as `block_shape` has entries.
Source: facts relay-language §6 levels 5 and 10.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.fill_values import as_element, check_fill
from baton._src.ops.row_major import split_index
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.reshape import compute as compute_reshape
from baton._src.ops.shape.reshape_target import resolve, resolve_numbers, target_rank
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import AnyArray

Pairs = tuple[tuple[int, int], ...]


def _pairs(values: Pairs) -> Pairs:
    return tuple((int(a), int(b)) for a, b in values)


@attrs
class SpaceToBatchAttrs(Attrs):
    """Blocks and padding."""

    block_shape: tuple[int, ...] = attr(doc="extent of a block along each spatial axis")
    paddings: Pairs = attr(doc="(before, after) for each spatial axis")
    pad_value: float = attr(0.0, "what stands in the padding")

    def __post_init__(self) -> None:
        set_attr(self, "block_shape", tuple(self.block_shape))
        set_attr(self, "paddings", _pairs(self.paddings))


@attrs
class BatchToSpaceAttrs(Attrs):
    """Blocks and what is cut off."""

    block_shape: tuple[int, ...] = attr(doc="extent of a block along each spatial axis")
    crops: Pairs = attr(doc="(before, after) for each spatial axis")

    def __post_init__(self) -> None:
        set_attr(self, "block_shape", tuple(self.block_shape))
        set_attr(self, "crops", _pairs(self.crops))


def _check(call: OpCall[SpaceToBatchAttrs | BatchToSpaceAttrs], x: TensorInfo, pairs: Pairs) -> None:
    block = call.attrs.block_shape
    if len(pairs) != len(block) or any(b < 1 for b in block):
        call.fail(
            f"blocks {block} and {pairs} must have the same length, and blocks must be positive", code="op-attribute"
        )
    if any(width < 0 for pair in pairs for width in pair):
        call.fail(f"widths before and after an axis are 0 or more, got {pairs}", code="op-attribute")
    if 0 <= x.ndim <= len(block):
        call.fail(f"{len(block)} spatial axes and a batch do not fit {show_shape(x.shape, x.ndim)}")


def infer_to_batch(call: OpCall[SpaceToBatchAttrs]) -> Info:
    """The batch times the block; the spatial axes, padded, divided by it."""
    x, a = call.tensor(0), call.attrs
    _check(call, x, a.paddings)
    check_fill(call, "pad_value", a.pad_value, x.dtype)
    if x.shape is None:
        return x
    math_, shape = DimMath(call.prover), list(x.shape)
    for axis, (block, (before, after)) in enumerate(zip(a.block_shape, a.paddings), start=1):
        padded: Dim = math_.add(shape[axis], before + after)
        if math_.divides(block, padded) is False:
            call.fail(f"{padded} padded elements along axis {axis} are not a multiple of the block's {block}")
        shape[axis] = math_.floor_divide(padded, block)
    shape[0] = math_.multiply(shape[0], math.prod(a.block_shape))
    return TensorInfo(tuple(shape), x.dtype, vdevice=x.vdevice)


def compute_to_batch(inputs: Sequence[k.Tensor], a: SpaceToBatchAttrs, out: k.Result) -> k.Tensor:
    """The batch index gives the position in the block."""
    (x,) = inputs
    spatial, fill = len(a.block_shape), as_element(a.pad_value, x.dtype)

    def body(*i: k.Scalar) -> k.Scalar:
        places = split_index(i[0] // k.divisor(x.shape[0]), a.block_shape)
        where, tests = [i[0] % k.divisor(x.shape[0])], []
        for axis in range(spatial):
            before, after = a.paddings[axis]
            at = i[1 + axis] * k.index(a.block_shape[axis]) + places[axis]
            if before or after:
                at = at - k.index(before)
                tests += [k.tir.GE(at, k.index(0)), k.tir.LT(at, k.index(x.shape[1 + axis]))]
            where.append(at)
        value = x(*where, *i[1 + spatial :])
        return k.if_then_else(k.all_of(tests), value, k.const(fill, x.dtype)) if tests else value

    return k.compute(out.shape, body, "space_to_batch_nd")


def reference_to_batch(inputs: Sequence[AnyArray], a: SpaceToBatchAttrs) -> AnyArray:
    """Pad, cut into blocks, move them to the front."""
    x, block = inputs[0], a.block_shape
    count = len(block)
    widths = [(0, 0), *a.paddings, *[(0, 0)] * (x.ndim - 1 - count)]
    padded = np.pad(x, widths, constant_values=as_element(a.pad_value, k.DataType(x.dtype)))
    cut = [padded.shape[0]]
    for d, b in zip(padded.shape[1 : 1 + count], block):
        cut += [d // b, b]
    rest = padded.shape[1 + count :]
    moved = padded.reshape(*cut, *rest)
    order = [2 + 2 * n for n in range(count)] + [0] + [1 + 2 * n for n in range(count)]
    moved = moved.transpose(*order, *range(len(cut), len(cut) + len(rest)))
    return np.ascontiguousarray(moved).reshape(math.prod(block) * x.shape[0], *cut[1::2], *rest)


def infer_to_space(call: OpCall[BatchToSpaceAttrs]) -> Info:
    """The batch divided by the block; the spatial axes times it, cropped."""
    x, a = call.tensor(0), call.attrs
    _check(call, x, a.crops)
    if x.shape is None:
        return x
    math_, shape = DimMath(call.prover), list(x.shape)
    size = math.prod(a.block_shape)
    if math_.divides(size, shape[0]) is False:
        call.fail(f"a batch of {shape[0]} is not a multiple of the block's {size} places")
    shape[0] = math_.floor_divide(shape[0], size)
    for axis, (block, (before, after)) in enumerate(zip(a.block_shape, a.crops), start=1):
        whole = math_.multiply(shape[axis], block)
        if math_.at_most(before + after, whole) is False:
            call.fail(f"crops {a.crops} take more than the {whole} elements of axis {axis}, in {show_shape(x.shape)}")
        shape[axis] = math_.subtract(whole, before + after)
    return TensorInfo(tuple(shape), x.dtype, vdevice=x.vdevice)


def compute_to_space(inputs: Sequence[k.Tensor], a: BatchToSpaceAttrs, out: k.Result) -> k.Tensor:
    """The spatial index gives the batch entry."""
    (x,) = inputs
    spatial = len(a.block_shape)

    def body(*i: k.Scalar) -> k.Scalar:
        entry = k.index(0)
        where = []
        for axis in range(spatial):
            block = k.index(a.block_shape[axis])
            at = i[1 + axis] + k.index(a.crops[axis][0])
            entry = entry * block + at % block
            where.append(at // block)
        return x(entry * k.index(out.shape[0]) + i[0], *where, *i[1 + spatial :])

    return k.compute(out.shape, body, "batch_to_space_nd")


def reference_to_space(inputs: Sequence[AnyArray], a: BatchToSpaceAttrs) -> AnyArray:
    """Blocks back between the spatial axes, then cropped."""
    x, block = inputs[0], a.block_shape
    count = len(block)
    batch, rest = x.shape[0] // math.prod(block), x.shape[1 + count :]
    cut = x.reshape(*block, batch, *x.shape[1:])
    order = [count]
    for n in range(count):
        order += [count + 1 + n, n]
    moved = cut.transpose(*order, *range(2 * count + 1, cut.ndim))
    whole = moved.reshape(batch, *(d * b for d, b in zip(x.shape[1:], block)), *rest)
    kept = tuple(slice(before, d - after) for d, (before, after) in zip(whole.shape[1:], a.crops))
    return np.ascontiguousarray(whole[(slice(None), *kept)])


def _gradient_to_batch(b: CallMaker, args: Exprs, a: SpaceToBatchAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    return [b.op("nn.batch_to_space_nd", grad, block_shape=a.block_shape, crops=a.paddings)]


def _gradient_to_space(b: CallMaker, args: Exprs, a: BatchToSpaceAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    return [b.op("nn.space_to_batch_nd", grad, block_shape=a.block_shape, paddings=a.crops)]


SPACE_TO_BATCH = OpDef(
    "nn.space_to_batch_nd",
    SpaceToBatchAttrs,
    inputs=(Input("data"),),
    infer=infer_to_batch,
    compute=compute_to_batch,
    reference=reference_to_batch,
    gradient=_gradient_to_batch,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4, 6, 2)),), SpaceToBatchAttrs((2, 3), ((0, 0), (0, 0)))),
        Sample((Arr((2, 3, 4)),), SpaceToBatchAttrs((2, 2), ((1, 0), (0, 2)))),
        Sample((Arr((1, 5)),), SpaceToBatchAttrs((3,), ((0, 1),), pad_value=-1.0)),
    ),
    summary="Move blocks of the spatial axes into the batch axis.",
)

BATCH_TO_SPACE = OpDef(
    "nn.batch_to_space_nd",
    BatchToSpaceAttrs,
    inputs=(Input("data"),),
    infer=infer_to_space,
    compute=compute_to_space,
    reference=reference_to_space,
    gradient=_gradient_to_space,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((12, 2, 2, "m")),), BatchToSpaceAttrs((2, 3), ((0, 0), (0, 0)))),
        Sample((Arr((4, 2, 3)),), BatchToSpaceAttrs((2, 2), ((1, 0), (0, 2)))),
    ),
    summary="Move blocks from the batch axis back to the spatial axes.",
)


@attrs
class ReverseReshapeAttrs(Attrs):
    """The target."""

    newshape: tuple[int, ...] = attr(
        doc="the target; 0, -1, -2 and -3 mean what they mean to reshape, counted from the last axis"
    )

    def __post_init__(self) -> None:
        set_attr(self, "newshape", tuple(self.newshape))


def infer_reverse_reshape(call: OpCall[ReverseReshapeAttrs]) -> Info:
    """The target, resolved from the right: that of the turned shape, turned."""
    x, target = call.tensor(0), call.attrs.newshape
    if any(d < -3 for d in target):
        call.fail(f"the target {target} may hold 0, one -1, -2, -3 and positive dims", code="op-attribute")
    if x.shape is None:
        return TensorInfo(None, x.dtype, target_rank(target), x.vdevice)
    try:
        found = resolve(call, TensorInfo(x.shape[::-1], x.dtype), target[::-1], relay=True)
    except DiagnosticError:  # it shows the turned shapes
        call.fail(f"cannot reshape {show_shape(x.shape)} into {show_shape(target)}, whose dims count from the last one")
    return TensorInfo(None if found is None else found[::-1], x.dtype, vdevice=x.vdevice)


def reference_reverse_reshape(inputs: Sequence[AnyArray], a: ReverseReshapeAttrs) -> AnyArray:
    """`numpy.reshape`; beside a dim of 0 it does not find out what -1 stands for."""
    return np.reshape(inputs[0], resolve_numbers(inputs[0].shape[::-1], a.newshape[::-1])[::-1])


REVERSE_RESHAPE = OpDef(
    "contrib_reverse_reshape",
    ReverseReshapeAttrs,
    inputs=(Input("data"),),
    infer=infer_reverse_reshape,
    compute=compute_reshape,
    reference=reference_reverse_reshape,
    gradient=lambda b, args, a, out, grad: [b.op("reshape", grad, b.shape_of(args[0]))],
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, 3, 4)),), ReverseReshapeAttrs((-1, 0))),
        Sample((Arr((2, "n", 4)),), ReverseReshapeAttrs((0, -3))),
        Sample((Arr((2, 3, 4)),), ReverseReshapeAttrs((-2, 4))),
        Sample((Arr(("n", 4)),), ReverseReshapeAttrs((2, -1, 2))),
    ),
    summary="Reshape, with special values interpreted from the last axis to the first.",
)

BLOCK_SPACE: tuple[Definition, ...] = (SPACE_TO_BATCH, BATCH_TO_SPACE, REVERSE_RESHAPE)
