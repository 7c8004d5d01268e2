"""Quantised tensors, which are integers, and their scales and zero points: scalars, or vectors along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import normal_axis
from baton._src.ops.dims import DimMath, show_shape
from baton._src.values.tensor import AnyArray


def check_quantised(call: OpCall[Attrs], *positions: int) -> None:
    """The operands at `positions` are integers."""
    for position in positions:
        x = call.tensor(position)
        if not x.dtype.is_void and not x.dtype.is_int:
            name = call.op.inputs[position].name
            call.fail(f"{name} must be quantised, got {x.dtype}", code="op-dtype", help="qnn.quantize first")


WIDEST = 16
"""Bits of integers whose differences float32 holds."""


def check_lengths(call: OpCall[Attrs], positions: Sequence[int], x: TensorInfo, axis: int) -> None:
    """Those at `positions` have rank 0 or 1, vectors as many elements as `x` along `axis`, or one."""
    for position in positions:
        v, name = call.tensor(position), call.op.inputs[position].name
        if v.ndim > 1:
            call.fail(f"{name} must be a scalar or a vector, got {show_shape(v.shape, v.ndim)}")
        if v.ndim < 1 or x.ndim < 0:
            continue
        extent = x.shape[normal_axis(call, axis, x.ndim)] if x.ndim and x.shape else 1
        if v.shape is None or (x.ndim and x.shape is None) or v.shape[0] == 1:
            continue
        if DimMath(call.prover).equal(extent, v.shape[0]) is False:
            where = f"axis {axis} of {show_shape(x.shape, x.ndim)} has {extent}"
            call.fail(f"{name} has {v.shape[0]} elements, {where}", help="one for each index along the axis, or one")


def parameter_at(v: k.Tensor, i: k.Indices, axis: int) -> k.Scalar:
    """The element of a parameter that belongs to the element at `i`; `axis` counts from the front."""
    return v() if v.ndim == 0 else v(k.index(0) if k.is_one(v.shape[0]) else i[axis])


def np_along(v: AnyArray, ndim: int, axis: int) -> AnyArray:
    """A parameter in NumPy, as it lies beside a tensor of `ndim` axes."""
    if v.ndim == 0 or ndim == 0:
        return v.reshape(())
    return v.reshape([-1 if i == axis % ndim else 1 for i in range(ndim)])
