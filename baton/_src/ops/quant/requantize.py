"""The same numbers with another scale and zero point: qnn.requantize.

    exact (no compute_dtype)    round((q - zero) * (scale / new scale)) + new zero    in float64
    int64                       the same, the factor being a number of 31 bits and a shift
    float32, float64            round((q - zero) * (scale / new scale) + new zero)

A quantised tensor stands for (q - zero_point) * scale. Scales and zero points are scalar tensors, here also vectors
along `axis`. Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import like
from baton._src.ops.dims import show_shape
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.quant.parameters import check_lengths, check_quantised, np_along, parameter_at
from baton._src.ops.quant.rescaling import (
    REAL,
    ROUNDINGS,
    clipped,
    fixed_product,
    np_clipped,
    np_fixed_product,
    np_rounded,
    product,
    rounded,
)
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import INT32, DataType
from baton._src.values.tensor import AnyArray

COMPUTE_DTYPES = ("int64", "float32", "float64")
OPEN = "None"
"""What an attribute says that is left to `relay.qnn.op.requantize_config`."""
NO_SLOPE = NotApplicable("integers")


@attrs
class RequantizeAttrs(Attrs):
    """Axis, rounding, dtypes."""

    axis: int = attr(-1, "the axis along which the input's scale and zero point vary")
    rounding: str = attr(OPEN, "UPWARD or TONEAREST; None: requantize_config's, which is UPWARD by itself")
    compute_dtype: str = attr(OPEN, "int64, float32 or float64; None: requantize_config's, which is exact by itself")
    out_dtype: DataType = attr("int8", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "out_dtype", DataType(self.out_dtype))
        for name in ("rounding", "compute_dtype"):
            set_attr(self, name, getattr(self, name) or OPEN)

    @property
    def is_exact(self) -> bool:
        """Whether nothing was asked: the product of real numbers is rounded, and then moved to the new zero point."""
        return self.compute_dtype == OPEN

    @property
    def arithmetic(self) -> str:
        """The dtype that is computed in."""
        return REAL if self.is_exact else self.compute_dtype

    @property
    def effective_rounding(self) -> str:
        """UPWARD if nothing was asked."""
        return "UPWARD" if self.rounding == OPEN else self.rounding


def check_parameters(call: OpCall[Attrs], positions: Iterable[int], vectors: bool = False) -> None:
    """Scales are floats, zero points integers; scalars, or vectors where allowed."""
    for position in positions:
        check_parameter(call, call.op.inputs[position].name, call.tensor(position), vectors)


def check_parameter(call: OpCall[Attrs], name: str, v: TensorInfo, vectors: bool = False) -> None:
    """The same of one of them, which errors call `name`."""
    if v.ndim > (1 if vectors else 0):
        call.fail(f"{name} must be a scalar{' or a vector' if vectors else ''}, got {show_shape(v.shape, v.ndim)}")
    if not (v.dtype.is_void or (v.dtype.is_float if "scale" in name else v.dtype.is_int)):
        call.fail(f"{name} has dtype {v.dtype}", code="op-dtype", help="scales are floats, zero points integers")


def infer_requantize(call: OpCall[RequantizeAttrs]) -> Info:
    """The shape of the data with the requested dtype."""
    x, a = call.tensor(0), call.attrs
    if a.rounding not in (OPEN, *ROUNDINGS):
        call.fail(f"rounding must be UPWARD or TONEAREST, got {a.rounding!r}", code="op-attribute")
    if a.compute_dtype not in (OPEN, *COMPUTE_DTYPES):
        call.fail(f"compute_dtype must be one of {COMPUTE_DTYPES}, got {a.compute_dtype!r}", code="op-attribute")
    if not a.out_dtype.is_int:
        call.fail(f"gives integers, not {a.out_dtype}", code="op-dtype", help="qnn.dequantize gives real numbers")
    check_quantised(call, 0)
    for dtype in (x.dtype, a.out_dtype) if a.compute_dtype == "int64" else ():
        if dtype.is_int and dtype.int_range[1] > INT32.int_range[1]:
            message = f"compute_dtype int64 holds products of int32 and narrower, not of {dtype}"
            call.fail(message, code="op-dtype", help="leave compute_dtype out, or cast")
    if x.ndim > 0:
        normal_axis(call, a.axis, x.ndim)
    check_parameters(call, (1, 2), vectors=True)
    check_lengths(call, (1, 2), x, a.axis)
    check_parameters(call, (3, 4))
    return like(x, a.out_dtype)


def compute_requantize(inputs: Sequence[k.Tensor], a: RequantizeAttrs, out: k.Result) -> k.Tensor:
    """The formula of the attributes' arithmetic."""
    x, scale, zero, new_scale, new_zero = inputs
    axis = from_front(a.axis, x.ndim) if x.ndim else 0
    real, rounding = a.arithmetic, a.effective_rounding

    def body(*i: k.Scalar) -> k.Scalar:
        own_scale, own_zero = parameter_at(scale, i, axis), parameter_at(zero, i, axis)
        factor = k.cast(REAL, own_scale) / k.cast(REAL, new_scale())
        value, new = k.cast(real, x(*i)) - k.cast(real, own_zero), k.cast(real, new_zero())
        if real == "int64":
            low, high = (k.const(v, real) for v in out.dtype.int_range)
            whole = fixed_product(value, factor, rounding) + new
            return k.cast(out.dtype, k.maximum(low, k.minimum(high, whole)))
        value = product(value, k.cast(real, factor))
        whole = rounded(value, rounding) + new if a.is_exact else rounded(value + new, rounding)
        return clipped(k.cast(REAL, whole), out.dtype)

    return k.compute(out.shape, body, "requantize")


def reference_requantize(inputs: Sequence[AnyArray], a: RequantizeAttrs) -> AnyArray:
    """The formula."""
    x, scale, zero, new_scale, new_zero = (np.asarray(v) for v in inputs)
    real, rounding = np.dtype(a.arithmetic), a.effective_rounding
    factor = np_along(scale.astype(REAL), x.ndim, a.axis) / new_scale.astype(REAL)
    value, new = x.astype(real) - np_along(zero.astype(real), x.ndim, a.axis), new_zero.astype(real)
    if real == "int64":
        return np_clipped(np_fixed_product(value, factor, rounding) + new, a.out_dtype)
    value = value * factor.astype(real)
    whole = np_rounded(value, rounding) + new if a.is_exact else np_rounded(value + new, rounding)
    return np_clipped(whole.astype(REAL), a.out_dtype)


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
    layout=FollowsInput(axis="axis"),
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4), "int32", -999, 999), *scalars(2)), RequantizeAttrs()),
        Sample((Arr((3, 4), "int8", -99, 99), *scalars(2)), RequantizeAttrs(rounding="TONEAREST", out_dtype="uint8")),
        Sample((Arr((3, 4), "int32", -999, 999), *scalars(2)), RequantizeAttrs(compute_dtype="int64")),
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
    summary="Requantize: the same real numbers with another scale and zero point.",
)


def scalars(count: int) -> tuple[Arr, ...]:
    """Scales and zero points."""
    return (Arr((), low=0.05, high=0.5), Arr((), "int32", -5, 5)) * count
