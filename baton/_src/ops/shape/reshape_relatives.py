"""Relatives of reshape whose target needs no saying: reshape_like, flatten (all to one axis), nn.batch_flatten (all but
the first). Source: facts relax-ops-passes-vm §1, relay-language §6 level 3.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Definition, Exprs, Fusion, Input, InRelax, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.said_dims import said_dims
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.reshape import RESHAPE, ReshapeAttrs, compute, gradient
from baton._src.tir.expr import IntImm

D = TypeVar("D", bound=Dim)


def infer_like(call: OpCall[ReshapeLikeAttrs]) -> Info:
    """The shape of the second operand (between the given axes), the elements of the first."""
    x, like = call.tensor(0), call.tensor(1)
    if x.shape is None or like.shape is None:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    shape = _like_shape(x.shape, like.shape, call.attrs)
    math = DimMath(call.prover)
    if math.equal(math.product(shape), math.product(x.shape)) is False:
        call.fail(f"cannot reshape {show_shape(x.shape)} like {show_shape(like.shape)}")
    return TensorInfo(shape, x.dtype, vdevice=x.vdevice)


def _like_shape(shape: tuple[D, ...], like: tuple[D, ...], a: ReshapeLikeAttrs) -> tuple[D, ...]:
    def cut(begin: int, end: int | None, rank: int) -> tuple[int, int]:
        stop = rank if end is None else end + rank if end < 0 else end
        return (begin + rank if begin < 0 else begin), stop

    left, right = cut(a.lhs_begin, a.lhs_end, len(shape))
    first, last = cut(a.rhs_begin, a.rhs_end, len(like))
    return (*shape[:left], *like[first:last], *shape[right:])


@attrs
class ReshapeLikeAttrs(Attrs):
    """Which axes take part."""

    lhs_begin: int = attr(0, "first axis of the data that changes")
    lhs_end: int | None = attr(None, "axis of the data to stop before")
    rhs_begin: int = attr(0, "first axis of the pattern that is copied")
    rhs_end: int | None = attr(None, "axis of the pattern to stop before")


RESHAPE_LIKE = OpDef(
    "reshape_like",
    ReshapeLikeAttrs,
    inputs=(Input("data"), Input("shape_like")),
    infer=infer_like,
    compute=compute,
    reference=lambda inputs, a: np.reshape(inputs[0], _like_shape(inputs[0].shape, inputs[1].shape, a)),
    fusion=Fusion.INJECTIVE,
    gradient=lambda b, args, a, out, grad: [b.op("reshape", grad, b.shape_of(args[0])), None],
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, 3)), Arr((6,))), ReshapeLikeAttrs()),
        Sample((Arr(("n", 6)), Arr((2, 3))), ReshapeLikeAttrs(lhs_begin=1)),
    ),
    summary="Reshape to the shape of another tensor, or to some of its axes.",
)


def infer_flatten(call: OpCall[Attrs]) -> Info:
    """One axis (or two, the first kept, for batch_flatten)."""
    x = call.tensor(0)
    first = 1 if call.op.name == "nn.batch_flatten" else 0
    if x.shape is None:
        return x if x.ndim == first + 1 else TensorInfo(None, x.dtype, first + 1, x.vdevice)
    if len(x.shape) < first:
        call.fail("takes data with a batch axis, got a scalar")
    rest = DimMath(call.prover).product(x.shape[first:])
    return TensorInfo((*x.shape[:first], rest), x.dtype, vdevice=x.vdevice)


FLATTEN = OpDef(
    "flatten",
    inputs=(Input("x"),),
    infer=infer_flatten,
    reference=lambda inputs, a: np.reshape(inputs[0], -1),
    relay_name=NotApplicable("Relay writes reshape(x, -1)"),
    samples=lambda: (Sample((Arr(("n", 4)),)), Sample((Arr(()),)), Sample((Arr((2, 3, 2)),))),
    summary="Flatten to one axis.",
    compute=compute,
    fusion=Fusion.INJECTIVE,
    gradient=gradient,
)


def _as_reshape(args: Exprs, a: Attrs) -> InRelax:
    """To known sizes Relay's is a reshape, which more rules know."""
    dims = said_dims(args[0].struct_info_)
    numbers = [d.value for d in dims or () if isinstance(d, IntImm)]
    if not dims or len(numbers) < len(dims):
        return args, a
    target = (dims[0], math.prod(numbers[1:]))
    return (*args, target), ReshapeAttrs(), RESHAPE


BATCH_FLATTEN = OpDef(
    "nn.batch_flatten",
    inputs=(Input("x", relay_name="data"),),
    relay_to_relax=_as_reshape,
    infer=infer_flatten,
    reference=lambda inputs, a: np.reshape(inputs[0], (inputs[0].shape[0], int(np.prod(inputs[0].shape[1:])))),
    samples=lambda: (Sample((Arr(("n", 4, 2)),)), Sample((Arr((3,)),))),
    summary="Flatten all axes but the first into one.",
    compute=compute,
    fusion=Fusion.INJECTIVE,
    gradient=gradient,
)

RESHAPE_RELATIVES: tuple[Definition, ...] = (RESHAPE_LIKE, FLATTEN, BATCH_FLATTEN)
