"""Sums, differences and products of the numbers that two quantised tensors stand for: qnn.add, subtract, mul.

The operands' scales and zero points are scalars, or vectors along `lhs_axis` and `rhs_axis`. The result is quantised
again, with rounding UPWARD (see `requantize`). Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Definition, Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front
from baton._src.ops.broadcasting import broadcast, same_dtype
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.quant.parameters import check_lengths, check_quantised, np_along, parameter_at
from baton._src.ops.quant.requantize import NO_SLOPE, check_parameters, scalars
from baton._src.ops.quant.rescaling import REAL, clipped, np_clipped, np_rounded, product, rounded
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class BinaryAttrs(Attrs):
    """Axes of parameters."""

    lhs_axis: int = attr(-1, "the axis along which the left scale and zero point vary")
    rhs_axis: int = attr(-1, "the axis along which the right scale and zero point vary")


def channel_axis(axis: int, ndim: int) -> int:
    """The axis of an operand's parameters, from the front; operands of one axis have no other."""
    return 0 if ndim <= 1 else from_front(axis, ndim)


def infer_binary(call: OpCall[BinaryAttrs]) -> Info:
    """Both operands of one dtype, broadcast."""
    operands = [call.tensor(0), call.tensor(1)]
    check_quantised(call, 0, 1)
    check_parameters(call, range(2, 6), vectors=True)
    check_parameters(call, (6, 7))
    for n, axis in enumerate((call.attrs.lhs_axis, call.attrs.rhs_axis)):
        check_lengths(call, (2 + 2 * n, 3 + 2 * n), operands[n], 0 if operands[n].ndim == 1 else axis)
    return broadcast(call, operands, same_dtype(call, operands))


def _binary(
    name: str, te: Callable[[k.Scalar, k.Scalar], k.Scalar], numpy: Callable[[AnyArray, AnyArray], AnyArray]
) -> OpDef[BinaryAttrs]:
    def compute(inputs: Sequence[k.Tensor], a: BinaryAttrs, out: k.Result) -> k.Tensor:
        left, right, *parameters = inputs

        def real(x: k.Tensor, i: k.Indices, own: Sequence[k.Tensor], axis: int) -> k.Scalar:
            at = k.broadcast_indices(x, i, out.shape)
            scale, zero = (k.cast(REAL, parameter_at(v, at, channel_axis(axis, x.ndim))) for v in own)
            return product(k.cast(REAL, x(*at)) - zero, scale)

        def body(*i: k.Scalar) -> k.Scalar:
            scale, zero = (k.cast(REAL, v()) for v in parameters[4:])
            reals = real(left, i, parameters[:2], a.lhs_axis), real(right, i, parameters[2:4], a.rhs_axis)
            value = te(*reals) / scale
            return clipped(rounded(value, "UPWARD") + zero, out.dtype)

        return k.compute(out.shape, body, f"qnn_{name}")

    def reference(inputs: Sequence[AnyArray], a: BinaryAttrs) -> AnyArray:
        x, y, *own, scale, zero = (np.asarray(v).astype(np.float64) for v in inputs)
        sx, zx = (np_along(v, x.ndim, channel_axis(a.lhs_axis, x.ndim)) for v in own[:2])
        sy, zy = (np_along(v, y.ndim, channel_axis(a.rhs_axis, y.ndim)) for v in own[2:])
        value = numpy((x - zx) * sx, (y - zy) * sy) / scale
        return np_clipped(np_rounded(value, "UPWARD") + zero, DataType(inputs[0].dtype))

    names = ("lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale")
    return OpDef(
        f"qnn.{name}",
        BinaryAttrs,
        inputs=tuple(Input(n) for n in (*names, "output_zero_point")),
        infer=infer_binary,
        compute=compute,
        reference=reference,
        gradient=NO_SLOPE,
        fusion=Fusion.BROADCAST,
        layout=FollowsInput(operands=2),
        in_relax=False,
        samples=_samples,
        summary=f"{name} of two quantised tensors: computed on the real numbers they represent, then quantised.",
    )


def _samples() -> tuple[Sample, ...]:
    """With a scale for each whole operand, and with one for each row and each column."""
    vectors = (
        *(Arr((2, 3), "int8", -99, 99),) * 2,
        *(Arr((2,), low=0.05, high=0.5), Arr((2,), "int32", -5, 5)),
        *(Arr((3,), low=0.05, high=0.5), Arr((), "int32", -5, 5)),
        *scalars(1),
    )
    return (
        Sample((Arr(("n", 4), "uint8", 0, 255), Arr((4,), "uint8", 0, 255), *scalars(3)), BinaryAttrs()),
        Sample((Arr((2, 1), "int8", -99, 99), Arr((2, 3), "int8", -99, 99), *scalars(3)), BinaryAttrs()),
        Sample(vectors, BinaryAttrs(0, -1)),
    )


QNN_ARITHMETIC: tuple[Definition, ...] = (
    _binary("add", lambda x, y: x + y, np.add),
    _binary("subtract", lambda x, y: x - y, np.subtract),
    _binary("mul", lambda x, y: x * y, np.multiply),
)
