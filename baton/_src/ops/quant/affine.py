"""Real numbers as scaled integers: quantize and dequantize.

quantize: `clip(round(x / scale) + zero_point)` to the range of the result dtype, halves to even. dequantize: `(x -
zero_point) * scale`. Scale and zero point are scalars, or vectors along `axis`. Source: ONNX QuantizeLinear; facts
relax-ops-passes-vm §1 (qdq), relay-language §6 level 11.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import like
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layouts import follows_input
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType


@attrs
class QuantizeAttrs(Attrs):
    """Axis and dtype."""

    axis: int = attr(-1, "the axis along which scale and zero point vary")
    out_dtype: Any = attr("int8", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype))


@attrs
class DequantizeAttrs(Attrs):
    """Axis and dtype."""

    axis: int = attr(-1, "the axis along which scale and zero point vary")
    out_dtype: Any = attr("float32", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype))


def infer(call: OpCall[Any]) -> Info:
    """The data with the dtype asked for."""
    x = call.tensor(0)
    quantizes = call.op.name == "quantize"
    if not x.dtype.is_void and x.dtype.is_float != quantizes:
        call.fail(f"takes {'floating-point' if quantizes else 'integer'} data, got {x.dtype}", code="op-dtype")
    math = DimMath(call.prover)
    for position in (1, 2):
        v, name = call.tensor(position), call.op.inputs[position].name
        if v.ndim > 1:
            call.fail(f"{name} must be a scalar or a vector, got {show_shape(v.shape, v.ndim)}")
        if position == 1 and not v.dtype.is_void and not v.dtype.is_float:
            call.fail(f"scale must be floating-point, got {v.dtype}", code="op-dtype", help="astype first")
        if v.dtype.is_bool:
            call.fail(f"{name} must be a number, got bool", code="op-dtype", help="astype first")
        if v.ndim == 1 and x.ndim >= 0:
            axis = normal_axis(call, call.attrs.axis, x.ndim)
            if x.shape is not None and v.shape is not None and not (isinstance(v.shape[0], int) and v.shape[0] == 1):
                if math.equal(x.shape[axis], v.shape[0]) is False:
                    call.fail(
                        f"{call.op.inputs[position].name} has {v.shape[0]} elements, axis {axis} has {x.shape[axis]}"
                    )
    return like(x, call.attrs.out_dtype)


def _parameter(v: k.Tensor, i: Any, axis: int) -> Any:
    return v() if v.ndim == 0 else v(k.index(0) if k.is_one(v.shape[0]) else i[axis])


def compute_quantize(inputs: Any, a: QuantizeAttrs, out: Any) -> Any:
    """Divide, round, shift, clip."""
    x, scale, zero = inputs
    axis = from_front(a.axis, x.ndim) if x.ndim else 0
    low, high = (k.const(v, "int32" if out.dtype.bits < 32 else "int64") for v in out.dtype.int_range)

    def body(*i: Any) -> Any:
        value = k.nearbyint(k.wide(x(*i)) / k.wide(_parameter(scale, i, axis)))
        limit = k.const(2.0**31 - 256, value.dtype)
        value = k.maximum(k.minimum(value, limit), k.const(-(2.0**31 - 256), value.dtype))
        whole = k.cast(low.dtype, value) + k.cast(low.dtype, _parameter(zero, i, axis))
        return k.cast(out.dtype, k.maximum(k.minimum(whole, high), low))

    return k.compute(out.shape, body, "quantize")


def _spread(v: Any, ndim: int, axis: int) -> Any:
    if np.ndim(v) == 0:
        return np.asarray(v)
    shape = [1] * ndim
    shape[axis] = -1
    return v.reshape(shape)


def reference_quantize(inputs: Any, a: QuantizeAttrs) -> Any:
    """The formula."""
    x, scale, zero = inputs
    value = np.rint(wide(x) / wide(_spread(scale, x.ndim, a.axis)))
    value = np.clip(value, -(2.0**31 - 256), 2.0**31 - 256).astype("int64") + _spread(zero, x.ndim, a.axis).astype(
        "int64"
    )
    return np.clip(value, *a.out_dtype.int_range).astype(a.out_dtype.numpy)


def compute_dequantize(inputs: Any, a: DequantizeAttrs, out: Any) -> Any:
    """Shift, scale."""
    x, scale, zero = inputs
    axis = from_front(a.axis, x.ndim) if x.ndim else 0
    middle = "int64" if x.dtype.bits >= 32 else "int32"

    def body(*i: Any) -> Any:
        whole = k.cast(middle, x(*i)) - k.cast(middle, _parameter(zero, i, axis))
        factor = k.wide(_parameter(scale, i, axis))
        return k.cast(out.dtype, k.cast(factor.dtype, whole) * factor)

    return k.compute(out.shape, body, "dequantize")


def reference_dequantize(inputs: Any, a: DequantizeAttrs) -> Any:
    """The formula."""
    x, scale, zero = inputs
    factor = wide(_spread(scale, x.ndim, a.axis))
    whole = x.astype("int64") - _spread(zero, x.ndim, a.axis).astype("int64")
    return (whole.astype(factor.dtype) * factor).astype(a.out_dtype.numpy)


QUANTIZE = OpDef(
    "quantize",
    QuantizeAttrs,
    inputs=(
        Input("data"),
        Input("scale", "a scalar or a vector", relay_name="output_scale"),
        Input("zero_point", "a scalar or a vector", relay_name="output_zero_point"),
    ),
    infer=infer,
    compute=compute_quantize,
    reference=reference_quantize,
    gradient=NotApplicable("piecewise constant"),
    fusion=Fusion.ELEMWISE,
    layout=follows_input(axis="axis"),
    relay_name="qnn.quantize",
    samples=lambda: (
        Sample((Arr(("n", 4)), Arr((), low=0.01, high=0.1), Arr((), "int8", -5, 5)), QuantizeAttrs()),
        Sample((Arr((2, 4)), Arr((4,), low=0.01, high=0.1), Arr((4,), "uint8", 0, 99)), QuantizeAttrs(1, "uint8")),
    ),
    summary="clip(round(x / scale) + zero_point).",
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
    compute=compute_dequantize,
    reference=reference_dequantize,
    gradient=NotApplicable("integers"),
    fusion=Fusion.ELEMWISE,
    layout=follows_input(axis="axis"),
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
    summary="(x - zero_point) * scale.",
)

AFFINE: tuple[OpDef[Any], ...] = (QUANTIZE, DEQUANTIZE)
