"""nn.fifo_buffer: the last elements of a stream along an axis; new data come in at the end, the oldest fall out.

    y = concat(buffer, data)[-extent of buffer:]        along `axis`

Layers over time keep what they have computed so (fast WaveNet). Source: facts relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.linear_axes import named_dims
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray


@attrs
class FifoAttrs(Attrs):
    """The axis of time."""

    axis: int = attr(0, "the axis along which data are appended")


def infer(call: OpCall[FifoAttrs]) -> Info:
    """The buffer's type."""
    data, buffer = call.tensor(0), call.tensor(1)
    same_dtype(call, (data, buffer))
    if data.ndim == -1 or buffer.ndim == -1:
        return buffer
    shapes = f"{show_shape(data.shape, data.ndim)} and {show_shape(buffer.shape, buffer.ndim)}"
    if data.ndim != buffer.ndim:
        call.fail(f"data and buffer must have one rank, got {shapes}")
    axis = normal_axis(call, call.attrs.axis, buffer.ndim)
    if data.shape is None or buffer.shape is None:
        return buffer
    math = DimMath(call.prover)
    if any(math.equal(d, e) is False for i, (d, e) in enumerate(zip(data.shape, buffer.shape)) if i != axis):
        call.fail(f"data and buffer may differ along axis {axis} only, got {shapes}")
    new, kept = data.shape[axis], buffer.shape[axis]
    if math.at_most(new, kept) is False:
        call.fail(f"{new} new elements do not fit into a buffer of {kept}", help="take the last of them first")
    return buffer


def compute(inputs: Sequence[k.Tensor], a: FifoAttrs, out: k.Result) -> k.Tensor:
    """Old elements move up, new ones take the places at the end."""
    data, buffer = inputs
    axis = from_front(a.axis, buffer.ndim)
    new = k.index(data.shape[axis])
    old = k.index(buffer.shape[axis]) - new

    def body(*i: k.Scalar) -> k.Scalar:
        moved, fresh = list(i), list(i)
        moved[axis], fresh[axis] = i[axis] + new, i[axis] - old
        return k.if_then_else(i[axis] < old, buffer(*moved), data(*fresh))

    return k.compute(out.shape, body, "fifo_buffer")


def reference(inputs: Sequence[AnyArray], a: FifoAttrs) -> AnyArray:
    """Concatenate and cut."""
    data, buffer = inputs
    joined = np.concatenate([buffer, data], axis=a.axis)
    return np.take(joined, np.arange(data.shape[a.axis], joined.shape[a.axis]), axis=a.axis)


def gradient(b: CallMaker, args: Exprs, a: FifoAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The end goes to the data, the rest to what has moved up; what fell out has none."""
    data, buffer = (named_dims(v.struct_info, "nn.fifo_buffer") for v in args)
    axis = from_front(a.axis, len(buffer))
    old = buffer[axis] - data[axis]
    to_data = b.op("strided_slice", grad, (axis,), (old,), (buffer[axis],))
    rest = b.op("strided_slice", grad, (axis,), (0,), (old,))
    return [to_data, b.op("concat", b.tuple(b.full_like(args[0], 0), rest), axis=axis)]


FIFO_BUFFER = OpDef(
    "nn.fifo_buffer",
    FifoAttrs,
    inputs=(Input("data", "what comes in"), Input("buffer", "what is there")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, "n", 3)), Arr((2, 5, 3))), FifoAttrs(1)),
        Sample((Arr((2,), "int8", -9, 9), Arr((6,), "int8", -9, 9)), FifoAttrs(-1)),
    ),
    summary="Append new data to a buffer and keep the last elements.",
)
