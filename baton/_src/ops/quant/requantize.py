"""The same numbers with another scale and zero point: qnn.requantize; how real numbers become integers of a dtype.

A quantised tensor stands for (q - zero_point) * scale. Scales and zero points are scalar tensors, here also vectors
along `axis`. Rounding: UPWARD (halves up) or TONEAREST (halves away from zero). Source: facts relay-language §6
level 11.
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
from baton._src.ops.dims import show_shape
from baton._src.ops.layouts import follows_input
from baton._src.ops.quant.parameters import check_lengths, check_quantised, np_along, parameter_at
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType

ROUNDINGS = ("UPWARD", "TONEAREST")
COMPUTE_DTYPES = ("None", "int32", "int64", "float32", "float64")
REAL = "float64"
NO_SLOPE = NotApplicable("integers")


@attrs
class RequantizeAttrs(Attrs):
    """Axis, rounding, dtype."""

    axis: int = attr(-1, "the axis along which the input's scale and zero point vary")
    rounding: str = attr("UPWARD", "UPWARD or TONEAREST")
    compute_dtype: str = attr("None", "kept for TVM's programs; sums are exact here")
    out_dtype: Any = attr("int8", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype))
        set_attr(self, "rounding", "UPWARD" if self.rounding in ("None", None) else self.rounding)


def check_parameters(call: OpCall[Any], positions: Any, vectors: bool = False) -> None:
    """Scales are floats, zero points integers; scalars, or vectors where allowed."""
    for position in positions:
        v, name = call.tensor(position), call.op.inputs[position].name
        if v.ndim > (1 if vectors else 0):
            call.fail(f"{name} must be a scalar{' or a vector' if vectors else ''}, got {show_shape(v.shape, v.ndim)}")
        if not v.dtype.is_void and v.dtype.is_float != name.endswith("scale"):
            call.fail(f"{name} has dtype {v.dtype}", code="op-dtype", help="scales are floats, zero points integers")


def infer_requantize(call: OpCall[RequantizeAttrs]) -> Info:
    """The shape of the data with the requested dtype."""
    x, a = call.tensor(0), call.attrs
    if a.rounding not in ROUNDINGS:
        call.fail(f"rounding must be UPWARD or TONEAREST, got {a.rounding!r}", code="op-attribute")
    if a.compute_dtype not in COMPUTE_DTYPES:
        call.fail(f"compute_dtype must be one of {COMPUTE_DTYPES}, got {a.compute_dtype!r}", code="op-attribute")
    if not a.out_dtype.is_int:
        call.fail(f"gives integers, not {a.out_dtype}", code="op-dtype", help="qnn.dequantize gives real numbers")
    check_quantised(call, 0)
    if x.ndim > 0:
        normal_axis(call, a.axis, x.ndim)
    check_parameters(call, (1, 2), vectors=True)
    check_lengths(call, (1, 2), x, a.axis)
    check_parameters(call, (3, 4))
    return like(x, a.out_dtype)


def rounded(value: Any, rounding: str) -> Any:
    half = k.const(0.5, REAL)
    if rounding == "UPWARD":
        return k.floor(value + half)
    return k.select(value < k.const(0.0, REAL), k.ceil(value - half), k.floor(value + half))


def np_rounded(value: Any, rounding: str) -> Any:
    up = np.floor(value + 0.5)
    return up if rounding == "UPWARD" else np.where(value < 0, np.ceil(value - 0.5), up)


def clipped(value: Any, dtype: DataType) -> Any:
    """A float64 as the nearest number of an integer dtype."""
    low, high = (k.const(float(v), REAL) for v in dtype.int_range)
    return k.cast(dtype, k.cast("int64", k.maximum(low, k.minimum(high, value))))


def np_clipped(value: Any, dtype: DataType) -> Any:
    return np.clip(value, *dtype.int_range).astype(np.int64).astype(dtype.numpy)


def compute_requantize(inputs: Any, a: RequantizeAttrs, out: Any) -> Any:
    """round((x - zero_point) * (scale / new scale)) + new zero point"""
    x, scale, zero, new_scale, new_zero = inputs
    axis = from_front(a.axis, x.ndim) if x.ndim else 0

    def body(*i: Any) -> Any:
        own_scale, own_zero = (k.cast(REAL, parameter_at(v, i, axis)) for v in (scale, zero))
        factor = own_scale / k.cast(REAL, new_scale())
        value = rounded((k.cast(REAL, x(*i)) - own_zero) * factor, a.rounding)
        return clipped(value + k.cast(REAL, new_zero()), out.dtype)

    return k.compute(out.shape, body, "requantize")


def reference_requantize(inputs: Any, a: RequantizeAttrs) -> Any:
    """The formula."""
    x, *parameters = (np.asarray(v).astype(np.float64) for v in inputs)
    scale, zero = (np_along(v, x.ndim, a.axis) for v in parameters[:2])
    value = np_rounded((x - zero) * (scale / parameters[2]), a.rounding)
    return np_clipped(value + parameters[3], a.out_dtype)


REQUANTIZE = OpDef(
    "qnn.requantize",
    RequantizeAttrs,
    inputs=(
        Input("data"),
        Input("input_scale"),
        Input("input_zero_point"),
        Input("output_scale"),
        Input("output_zero_point"),
    ),
    infer=infer_requantize,
    compute=compute_requantize,
    reference=reference_requantize,
    gradient=NO_SLOPE,
    fusion=Fusion.ELEMWISE,
    layout=follows_input(axis="axis"),
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4), "int32", -999, 999), *scalars(2)), RequantizeAttrs()),
        Sample((Arr((3, 4), "int8", -99, 99), *scalars(2)), RequantizeAttrs(rounding="TONEAREST", out_dtype="uint8")),
        Sample(
            (
                Arr((3, 4), "int32", -999, 999),
                Arr((4,), low=0.01, high=0.1),
                Arr((4,), "int32", -5, 5),
                *scalars(1),
            ),
            RequantizeAttrs(axis=1),
        ),
    ),
    summary="The same numbers with another scale and zero point.",
)


def scalars(count: int) -> tuple[Arr, ...]:
    """Scales and zero points."""
    return (Arr((), low=0.05, high=0.5), Arr((), "int32", -5, 5)) * count
