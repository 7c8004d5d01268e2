"""Real numbers as scaled integers: quantize and dequantize.

quantize: `clip(round(x / scale) + zero_point)` to the range of the result dtype, halves to even. dequantize: `(x -
zero_point) * scale`. Scale and zero point are scalars, or vectors along `axis`. Source: ONNX QuantizeLinear; facts
relax-ops-passes-vm §1 (qdq), relay-language §6 level 11.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front
from baton._src.ops.broadcasting import like
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.precision import wide
from baton._src.ops.quant.parameters import WIDEST, check_lengths, np_along, parameter_at
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class QuantizeAttrs(Attrs):
    """Axis and dtype."""

    axis: int = attr(-1, "the axis along which scale and zero point vary")
    out_dtype: DataType = attr("int8", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype))


@attrs
class DequantizeAttrs(Attrs):
    """Axis and dtype."""

    axis: int = attr(-1, "the axis along which scale and zero point vary")
    out_dtype: DataType = attr("float32", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype))


def infer(call: OpCall[DequantizeAttrs | QuantizeAttrs]) -> Info:
    """The data with the dtype asked for."""
    x = call.tensor(0)
    quantizes = call.op.name == "quantize"
    if not x.dtype.is_void and x.dtype.is_float != quantizes:
        call.fail(f"takes {'floating-point' if quantizes else 'integer'} data, got {x.dtype}", code="op-dtype")
    out = call.attrs.out_dtype
    if not (out.is_int if quantizes else out.is_float):
        call.fail(f"gives {'integers' if quantizes else 'floating-point numbers'}, not {out}", code="op-dtype")
    if quantizes and out.bits > 32:
        call.fail(f"gives integers of at most 32 bits, not {out}", code="op-dtype", help="round and astype")
    if x.dtype == "uint64":
        call.fail("takes integers that int64 holds, got uint64", code="op-dtype", help="astype first")
    for position in (1, 2):
        v, name = call.tensor(position), call.op.inputs[position].name
        if position == 1 and not v.dtype.is_void and not v.dtype.is_float:
            call.fail(f"scale must be floating-point, got {v.dtype}", code="op-dtype", help="astype first")
        if v.dtype.is_bool:
            call.fail(f"{name} must be a number, got bool", code="op-dtype", help="astype first")
    check_lengths(call, (1, 2), x, call.attrs.axis)
    return like(x, call.attrs.out_dtype)


def check_zero_point(call: OpCall[DequantizeAttrs | QuantizeAttrs]) -> None:
    """Relay's zero points are integers; Relax also takes the numbers of smaller floats."""
    dtype = call.tensor(2).dtype
    if not dtype.is_void and not dtype.is_int:
        call.fail(f"{call.op.inputs[2].relay_name} must be an integer, got {dtype}", code="op-dtype")


def _beyond(dtype: DataType) -> float:
    """What lies beyond every number of the dtype, of at most 32 bits, with a zero point added, too; a float32, and an
    integer of the 32 or 64 bits that they are added in.
    """
    return 2.0**30 if dtype.bits < 32 else 2.0**40


def compute_quantize(inputs: Sequence[k.Tensor], a: QuantizeAttrs, out: k.Result) -> k.Tensor:
    """Divide, round, shift, clip; clip and shift where floats hold the ends of the range, shifted: integers need no
    clipping then.
    """
    x, scale, zero = inputs
    axis = from_front(a.axis, x.ndim) if x.ndim else 0
    ends, middle = out.dtype.int_range, "int32" if out.dtype.bits < 32 else "int64"
    low, high = (k.const(v, middle) for v in ends)
    most = _beyond(out.dtype)

    def rounded(i: k.Indices) -> k.Scalar:
        return k.nearbyint(k.wide(x(*i)) / k.wide(parameter_at(scale, i, axis)))

    def clipped_first(*i: k.Scalar) -> k.Scalar:
        value, shift = rounded(i), parameter_at(zero, i, axis)
        least, greatest = (k.const(float(v), value.dtype) - k.cast(value.dtype, shift) for v in ends)
        whole = k.cast(middle, k.maximum(k.minimum(value, greatest), least))
        return k.cast(out.dtype, whole + k.cast(middle, shift))

    def shifted_first(*i: k.Scalar) -> k.Scalar:
        value = rounded(i)
        value = k.maximum(k.minimum(value, k.const(most, value.dtype)), k.const(-most, value.dtype))
        whole = k.cast(middle, value) + k.cast(middle, parameter_at(zero, i, axis))
        return k.cast(out.dtype, k.maximum(k.minimum(whole, high), low))

    first = zero.dtype == out.dtype and out.dtype.bits <= WIDEST
    return k.compute(out.shape, clipped_first if first else shifted_first, "quantize")


def reference_quantize(inputs: Sequence[AnyArray], a: QuantizeAttrs) -> AnyArray:
    """The formula; what is no number counts as 0."""
    x, scale, zero = inputs
    value = np.rint(wide(x) / wide(np_along(scale, x.ndim, a.axis)))
    most = _beyond(a.out_dtype)
    whole = np.clip(np.where(np.isnan(value), 0, value), -most, most).astype("int64")
    shifted = whole + np_along(zero, x.ndim, a.axis).astype("int64")
    found: AnyArray = np.clip(shifted, *a.out_dtype.int_range).astype(a.out_dtype.numpy)
    return found


def compute_dequantize(inputs: Sequence[k.Tensor], a: DequantizeAttrs, out: k.Result) -> k.Tensor:
    """Shift, scale."""
    x, scale, zero = inputs
    axis = from_front(a.axis, x.ndim) if x.ndim else 0
    middle = "int64" if x.dtype.bits >= 32 else "int32"

    def body(*i: k.Scalar) -> k.Scalar:
        whole = k.cast(middle, x(*i)) - k.cast(middle, parameter_at(zero, i, axis))
        factor = k.wide(parameter_at(scale, i, axis))
        return k.cast(out.dtype, k.cast(factor.dtype, whole) * factor)

    return k.compute(out.shape, body, "dequantize")


def reference_dequantize(inputs: Sequence[AnyArray], a: DequantizeAttrs) -> AnyArray:
    """The formula."""
    x, scale, zero = inputs
    factor = wide(np_along(scale, x.ndim, a.axis))
    whole = x.astype("int64") - np_along(zero, x.ndim, a.axis).astype("int64")
    found: AnyArray = (whole.astype(factor.dtype) * factor).astype(a.out_dtype.numpy)
    return found


QUANTIZE = OpDef(
    "quantize",
    QuantizeAttrs,
    inputs=(
        Input("data"),
        Input("scale", "a scalar or a vector", relay_name="output_scale"),
        Input("zero_point", "a scalar or a vector", relay_name="output_zero_point"),
    ),
    infer=infer,
    relay_rule=check_zero_point,
    compute=compute_quantize,
    reference=reference_quantize,
    gradient=NotApplicable("piecewise constant"),
    fusion=Fusion.ELEMWISE,
    layout=FollowsInput(axis="axis"),
    relay_name="qnn.quantize",
    samples=lambda: (
        Sample((Arr(("n", 4)), Arr((), low=0.01, high=0.1), Arr((), "int8", -5, 5)), QuantizeAttrs()),
        Sample((Arr((2, 4)), Arr((4,), low=0.01, high=0.1), Arr((4,), "uint8", 0, 99)), QuantizeAttrs(1, "uint8")),
    ),
    summary="Quantize: clip(round(x / scale) + zero_point).",
)
DEQUANTIZE = OpDef(
    "dequantize",
    DequantizeAttrs,
    inputs=(
        Input("data"),
        Input("scale", "a scalar or a vector", relay_name="input_scale"),
        Input("zero_point", "a scalar or a vector", relay_name="input_zero_point"),
    ),
    infer=infer,
    relay_rule=check_zero_point,
    compute=compute_dequantize,
    reference=reference_dequantize,
    gradient=NotApplicable("integers"),
    fusion=Fusion.ELEMWISE,
    layout=FollowsInput(axis="axis"),
    relay_name="qnn.dequantize",
    samples=lambda: (
        Sample(
            (Arr(("n", 4), "int8", -99, 99), Arr((), low=0.01, high=0.1), Arr((), "int8", -5, 5)), DequantizeAttrs()
        ),
        Sample(
            (Arr((4, 2), "uint8", 0, 255), Arr((4,), low=0.01, high=0.1), Arr((4,), "uint8", 0, 99)),
            DequantizeAttrs(0, "float16"),
            rtol=1e-2,
        ),
    ),
    summary="Dequantize: (x - zero_point) * scale.",
)

AFFINE: tuple[Definition, ...] = (QUANTIZE, DEQUANTIZE)
