"""Relatives of slices: slice_like (cut to the shape of another tensor), strided_set (new values in a slice).

Source: facts relay-language §6 levels 4 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import BaseExpr, GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, InRelax, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axes
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.operand_checks import check_dtype
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.slice_bounds import Bound
from baton._src.ops.shape.slicing import (
    SLICE_BOUNDS,
    StridedSliceAttrs,
    bound_attributes,
    cut_shape,
    cuts,
    python_slices,
    starts_and_strides,
    to_relax,
)
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray

D = TypeVar("D", bound=Dim)


@attrs
class SliceLikeAttrs(Attrs):
    """The axes that are sliced."""

    axes: tuple[int, ...] | None = attr(None, "the axes that are cut; None or empty: all that the pattern has")


def _cut_like(x: Sequence[D], like: Sequence[D], axes: Sequence[int] | None) -> tuple[D, ...]:
    named = range(len(like)) if not axes else [from_front(a, len(x)) for a in axes]
    return tuple(like[i] if i in named else d for i, d in enumerate(x))


def infer_slice_like(call: OpCall[SliceLikeAttrs]) -> Info:
    """The dims of the pattern along the axes."""
    x, like = call.tensor(0), call.tensor(1)
    if x.shape is None or like.shape is None:
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    if call.attrs.axes:
        beyond = [a for a in normal_axes(call, call.attrs.axes, x.ndim, "axes") if a >= like.ndim]
        if beyond:
            call.fail(f"axis {beyond[0]} is out of range for the pattern of rank {like.ndim}", code="op-axis")
    shape = _cut_like(x.shape, like.shape, call.attrs.axes)
    math = DimMath(call.prover)
    if any(new is not old and math.at_most(new, old) is False for new, old in zip(shape, x.shape)):
        call.fail(f"cannot cut {show_shape(x.shape)} to the longer {show_shape(like.shape)}")
    return TensorInfo(shape, x.dtype, vdevice=x.vdevice)


def reference_slice_like(inputs: Sequence[AnyArray], a: SliceLikeAttrs) -> AnyArray:
    """Python's slices, of no more than there is."""
    x, like = inputs
    shape = _cut_like(x.shape, like.shape, a.axes)
    if any(new > old for new, old in zip(shape, x.shape)):
        raise ValueError(f"cannot cut {x.shape} to the longer {like.shape}")
    return np.array(x[tuple(slice(0, d) for d in shape)], order="C")


SLICE_LIKE = OpDef(
    "slice_like",
    SliceLikeAttrs,
    inputs=(Input("data"), Input("shape_like")),
    infer=infer_slice_like,
    compute=lambda inputs, a, out: k.compute(out.shape, lambda *i: inputs[0](*i), "slice_like"),
    reference=reference_slice_like,
    gradient=NotApplicable("not offered by Relay"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((5, 6)), Arr((2, "m"))), SliceLikeAttrs()),
        Sample((Arr((5, 6)), Arr((2, 3))), SliceLikeAttrs(axes=(-1,))),
    ),
    summary="Slice the leading part of a tensor that has the shape of another.",
)


def infer_set(call: OpCall[StridedSliceAttrs]) -> Info:
    """The data itself."""
    x, v = call.tensor(0), call.tensor(1)
    check_dtype(call, 1, x.dtype)
    wanted = cut_shape(call, 2)
    if wanted is not None and v.shape is not None:
        math = DimMath(call.prover)
        if len(v.shape) != len(wanted) or any(math.equal(a, b) is False for a, b in zip(v.shape, wanted)):
            call.fail(f"the values must have the shape of the cut, {show_shape(wanted)}, got {show_shape(v.shape)}")
    return x


def compute_set(
    inputs: tuple[k.Tensor, k.Tensor, *tuple[Sequence[Bound] | None, ...]], a: StridedSliceAttrs, out: k.Result
) -> k.Tensor:
    """The new value where an index lies in the cut along every axis."""
    x, v, *given = inputs
    starts = starts_and_strides(x, [g for g in given if g is not None], a)

    def body(*indices: k.Scalar) -> k.Scalar:
        inside, source = [], []
        for axis, i in enumerate(indices):
            if axis not in starts:
                source.append(i)
                continue
            start, stride = starts[axis]
            distance = i - start if stride > 0 else start - i
            step = k.index(abs(stride))
            at = distance if abs(stride) == 1 else distance // step
            inside += [distance >= k.index(0), at < k.index(v.shape[axis])]
            inside += [] if abs(stride) == 1 else [k.tir.EQ(distance % step, k.index(0))]
            source.append(at)
        return k.if_then_else(k.all_of(inside), v(*source), x(*indices)) if inside else v(*source)

    return k.compute(out.shape, body, "strided_set")


def reference_set(inputs: tuple[AnyArray, AnyArray, *tuple[Sequence[int], ...]], a: StridedSliceAttrs) -> AnyArray:
    """Assignment to Python's slices."""
    found = np.array(inputs[0])
    cut = python_slices(cuts(inputs[2:], a, found.ndim), found.shape)
    if found[cut].shape != inputs[1].shape:
        raise ValueError(f"values of shape {inputs[1].shape} for a cut of shape {found[cut].shape}")
    found[cut] = inputs[1]
    return found


def gradient_set(b: CallMaker, args: Exprs, a: StridedSliceAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """To the data outside the cut, to the values inside."""
    options = dict(bound_attributes(a))
    inner = b.op("strided_slice", grad, *args[2:], **options)
    outer = b.op("strided_set", grad, b.full_like(args[1], 0), *args[2:], **options)
    return [outer, inner, *(None for _ in args[2:])]


def relay_set(
    make: OpBuilder, data: Given, v: Given, begin: Given, end: Given, strides: Given = None, slice_mode: str = "end"
) -> Made:
    """Constant bounds become attributes."""
    lists = [_list(x) for x in (begin, end, strides)]
    return make(data, v, begin=lists[0], end=lists[1], strides=lists[2], slice_mode=slice_mode)


def _list(value: Given) -> tuple[int, ...] | None:
    if value is None:
        return None
    data = getattr(value, "data", value)
    if isinstance(data, BaseExpr):
        help = "scatter_nd writes to places that a run tells"
        raise fail("op-argument", "strided_set: begin, end and strides are numbers or constants", help=help)
    return tuple(int(x) for x in np.asarray(getattr(data, "data", data)).reshape(-1))


def set_to_relax(args: Exprs, a: StridedSliceAttrs) -> InRelax:
    """Bounds as arguments, as `strided_slice` has them."""
    if len(args) != 2:
        return args, a
    (data, *bounds), attrs = to_relax(args[:1], a)
    return (data, args[1], *bounds), attrs


STRIDED_SET = OpDef(
    "strided_set",
    StridedSliceAttrs,
    inputs=(Input("data"), Input("v", "the new values"), *SLICE_BOUNDS),
    infer=infer_set,
    compute=compute_set,
    reference=reference_set,
    gradient=gradient_set,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    relay_builder=relay_set,
    relay_to_relax=set_to_relax,
    samples=lambda: (
        Sample((Arr(("n", 6)), Arr(("n", 2))), StridedSliceAttrs(axes=(1,), begin=(1,), end=(3,))),
        Sample((Arr((5, 6)), Arr((2, 3))), StridedSliceAttrs(begin=(4, 0), end=(0, 6), strides=(-2, 2))),
    ),
    summary="A copy of a tensor with new values in a slice.",
)

SLICE_RELATIVES = (SLICE_LIKE, STRIDED_SET)
