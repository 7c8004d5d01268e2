"""round_to_range: floats rounded to the integers that a dtype holds, less a zero point, and still floats.

    clip(round(x), low - zero_point, high - zero_point)          low, high: the ends of `dtype`

Halves go to the even neighbour. What is quantised and at once dequantised is this between its two scales
(`passes/relax/products/fake_quantize`); the zero point is an operand, so that layers share kernels, and an integer, so
that the ends are known to be numbers. NaN stays NaN. Source: baton's own; quantize and dequantize in `affine`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import show_shape
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.quant.parameters import WIDEST
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class RoundToRangeAttrs(Attrs):
    """Which integers."""

    dtype: DataType = attr("int8", "the integers' dtype, of at most 16 bits, which is that of the zero point")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def infer(call: OpCall[RoundToRangeAttrs]) -> Info:
    """The data's own type."""
    x, zero, dtype = call.tensor(0), call.tensor(1), call.attrs.dtype
    if not x.dtype.is_void and str(x.dtype) not in ("float32", "float64"):
        call.fail(f"takes float32 or float64 data, got {x.dtype}", code="op-dtype", help="astype first")
    if dtype.kind not in ("int", "uint") or dtype.bits > WIDEST:
        call.fail(f"dtype must be an integer of at most {WIDEST} bits, got {dtype}", code="op-dtype")
    if not zero.dtype.is_void and zero.dtype != dtype:
        call.fail(f"zero_point must be {dtype}, got {zero.dtype}", code="op-dtype", help="astype first")
    if zero.ndim not in (-1, 0):
        call.fail(f"zero_point must be a scalar, got {show_shape(zero.shape, zero.ndim)}")
    return x


def compute(inputs: Sequence[k.Tensor], a: RoundToRangeAttrs, out: k.Result) -> k.Tensor:
    """Round, clip."""
    x, zero = inputs

    def body(*i: k.Scalar) -> k.Scalar:
        value = k.nearbyint(x(*i))
        low, high = (k.const(float(end), out.dtype) - k.cast(out.dtype, zero()) for end in a.dtype.int_range)
        return k.maximum(k.minimum(value, high), low)

    return k.compute(out.shape, body, "round_to_range")


def reference(inputs: Sequence[AnyArray], a: RoundToRangeAttrs) -> AnyArray:
    """The formula."""
    x, zero = inputs
    low, high = (end - int(zero) for end in a.dtype.int_range)
    return np.clip(np.rint(x), low, high).astype(x.dtype)


ROUND_TO_RANGE = OpDef(
    "round_to_range",
    RoundToRangeAttrs,
    inputs=(Input("data"), Input("zero_point", "a scalar")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("piecewise constant"),
    fusion=Fusion.ELEMWISE,
    layout=FollowsInput(),
    relay_name=NotApplicable("Relay quantises and dequantises"),
    samples=lambda: (
        Sample((Arr(("n", 4), low=-300, high=300), Arr((), "int8", -128, 127)), RoundToRangeAttrs()),
        Sample((Arr((2, 4), "float64", low=-9, high=300), Arr((), "uint8", 0, 255)), RoundToRangeAttrs("uint8")),
    ),
    summary="clip(round(x), low - zero_point, high - zero_point) for the ends of a small integer dtype, as floats.",
)
