"""A vector with a number for each channel, against data: nn.bias_add, nn.prelu.

Source: facts relax-ops-passes-vm §1 (nn), relay-language §6 level 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import (
    CallMaker,
    Compute,
    Definition,
    Exprs,
    Fusion,
    Gradients,
    Input,
    OpCall,
    OpDef,
    Reference,
)
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.precision import computed_wide
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray


@attrs
class AxisAttrs(Attrs):
    """The channel axis."""

    axis: int = attr(1, "the channel axis")


def infer_per_channel(call: OpCall[AxisAttrs]) -> Info:
    """The data itself; the vector must have as many elements as the axis."""
    x, v = call.tensor(0), call.tensor(1)
    check_ranks(call, None, 1)
    known = [t for t in (x, v) if not t.dtype.is_void]
    if len(known) == 2:
        same_dtype(call, known)
    if x.ndim >= 0:
        axis = normal_axis(call, call.attrs.axis, x.ndim)
        if x.shape is not None and v.shape is not None:
            if DimMath(call.prover).equal(x.shape[axis], v.shape[0]) is False:
                call.fail(f"axis {axis} of {show_shape(x.shape)} against a vector of {v.shape[0]} elements")
    return x


def infer_vector(call: OpCall[AxisAttrs]) -> Sequence[TensorInfo | None]:
    """An unknown vector has the extent of the axis."""
    x = call.tensor(0)
    if x.shape is None or x.dtype.is_void or not -x.ndim <= call.attrs.axis < x.ndim:
        return (None, None)
    return (None, TensorInfo((x.shape[from_front(call.attrs.axis, x.ndim)],), x.dtype))


def _per_channel(
    function: Callable[[k.Scalar, k.Scalar], k.Scalar], name: str = "compute", axes: str | None = None
) -> Compute[AxisAttrs]:
    def compute(inputs: Sequence[k.Tensor], a: AxisAttrs, out: k.Result) -> k.Tensor:
        x, v = inputs
        axis = from_front(a.axis, x.ndim)

        def body(*i: k.Scalar) -> k.Scalar:
            return k.cast(out.dtype, function(k.wide(x(*i)), k.wide(v(i[axis]))))

        return k.compute(out.shape, body, name, axes=axes)

    return compute


def _np_per_channel(function: Callable[[AnyArray, AnyArray], AnyArray]) -> Reference[AxisAttrs]:
    def reference(inputs: Sequence[AnyArray], a: AxisAttrs) -> AnyArray:
        x, v = inputs
        shape = [1] * x.ndim
        shape[a.axis] = -1
        return computed_wide(function, x, v.reshape(shape))

    return reference


def _others(x: GraphExpr, axis: int) -> tuple[int, ...]:
    ndim = x.struct_info.ndim
    return tuple(i for i in range(ndim) if i != from_front(axis, ndim))


def decompose_bias(b: CallMaker, args: Exprs, a: AxisAttrs, out: TensorInfo) -> GraphExpr:
    """A broadcast addition."""
    x, v = args
    after = tuple(range(1, out.ndim - from_front(a.axis, out.ndim)))
    return b.op("add", x, b.op("expand_dims", v, axis=after) if after else v)


def decompose_prelu(b: CallMaker, args: Exprs, a: AxisAttrs, out: TensorInfo) -> GraphExpr:
    """x where positive, else alpha * x."""
    x, v = args
    after = tuple(range(1, out.ndim - from_front(a.axis, out.ndim)))
    scaled = b.op("multiply", x, b.op("expand_dims", v, axis=after) if after else v)
    return b.op("where", b.op("greater", x, b.const(0, out.dtype)), x, scaled)


def _channel_samples() -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 4, 5)), Arr((4,))), AxisAttrs()),
        Sample((Arr(("n", 4), "float16"), Arr((4,), "float16")), AxisAttrs(-1), rtol=1e-2, atol=1e-2),
    )


BIAS_ADD = OpDef(
    "nn.bias_add",
    AxisAttrs,
    inputs=(Input("data"), Input("bias", "a vector of channels")),
    infer=infer_per_channel,
    infer_inputs=infer_vector,
    compute=_per_channel(lambda x, v: x + v, "T_add", "ax"),
    reference=_np_per_channel(np.add),
    decompose=decompose_bias,
    gradient=lambda b, args, a, out, grad: [grad, b.op("sum", grad, axis=_others(args[0], a.axis))],
    fusion=Fusion.BROADCAST,
    layout=FollowsInput(axis="axis"),
    in_relax=False,
    samples=_channel_samples,
    summary="Add a bias to each channel.",
)


def gradient_prelu(b: CallMaker, args: Exprs, a: AxisAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Through the side that was taken."""
    x, v = args
    zero = b.full_like(x, 0)
    positive = b.op("greater", x, zero)
    after = tuple(range(1, x.struct_info.ndim - from_front(a.axis, x.struct_info.ndim)))
    slope = b.op("expand_dims", v, axis=after) if after else v
    to_x = b.op("where", positive, grad, b.op("multiply", grad, slope))
    cut = b.op("where", positive, zero, b.op("multiply", grad, x))
    return [to_x, b.op("sum", cut, axis=_others(x, a.axis))]


PRELU = OpDef(
    "nn.prelu",
    AxisAttrs,
    inputs=(Input("data"), Input("alpha", "slopes for negative numbers, one a channel")),
    infer=infer_per_channel,
    infer_inputs=infer_vector,
    compute=_per_channel(lambda x, v: k.select(x > k.const(0, x.dtype), x, x * v)),
    reference=_np_per_channel(lambda x, v: np.where(x > 0, x, x * v)),
    decompose=decompose_prelu,
    gradient=gradient_prelu,
    fusion=Fusion.BROADCAST,
    layout=FollowsInput(axis="axis"),
    samples=_channel_samples,
    summary="Parametric ReLU: max(x, 0) + alpha * min(x, 0), with one alpha per channel.",
)

PER_CHANNEL: tuple[Definition, ...] = (BIAS_ADD, PRELU)
