"""qnn.requantize as arithmetic, in the dtype that its attributes name (see `ops.quant.requantize`).

    qnn.requantize(%q, 0.5f, 3, 1f, 1, compute_dtype="int64")
    becomes
    (cast(%q, "int64") - 3) * 1073741824 >> 31, halves up; + 1, clipped and cast

In int64 the scales must be constants: the multipliers and shifts that represent their quotients are computed here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ops.quant.rescaling import BEYOND, LARGE, REAL, fixed_point
from baton._src.passes.relay.building import Build, dtype_of, shape_of
from baton._src.relay.nodes import Call, Constant
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType

_LONG = "int64"


def spread(build: Build, value: GraphExpr, rank: int, axis: int, dtype: str = REAL) -> Any:
    """A parameter of an operator in `dtype`; a vector is reshaped to lie along `axis` of a tensor of this rank."""
    shape = shape_of(value)
    if shape is None:
        raise fail("relay-qnn", "scales and zero points must be scalars or vectors of known size", span=value.span)
    real = build.op("astype", value, dtype=dtype)
    if len(shape) == 1:
        return build.op("reshape", real, newshape=tuple(shape[0] if i == axis % rank else 1 for i in range(rank)))
    return real


def clipped(build: Build, value: GraphExpr, dtype: DataType) -> Any:
    """The nearest value of an integer dtype."""
    low, high = dtype.int_range
    as_value = int if dtype_of(value).is_int else float
    bounded = build.op("minimum", build.op("maximum", value, as_value(low)), as_value(high))
    return build.op("astype", bounded, dtype=dtype)


def product(build: Build, value: GraphExpr, factor: Any) -> Any:
    """value * factor, rounded before it is used further (see `ops.quant.rescaling.product`)."""
    return build.op("minimum", build.op("multiply", value, factor), BEYOND)


def rounded(build: Build, value: GraphExpr, rounding: str) -> Any:
    """Real numbers rounded to integers."""
    up = build.op("floor", build.op("add", value, 0.5))
    if rounding == "UPWARD":
        return up
    down = build.op("ceil", build.op("subtract", value, 0.5))
    return build.op("where", build.op("less", value, 0.0), down, up)


def canonical_requantize(build: Build, call: Call) -> Any:
    """The call as arithmetic, according to its attributes."""
    x, scale, zero, new_scale, new_zero = call.args
    a, rank = call.attrs, len(x.checked_type.shape)
    dtype, rounding = a.arithmetic, a.effective_rounding
    whole = build.op("subtract", build.op("astype", x, dtype=dtype), spread(build, zero, rank, a.axis, dtype))
    new = spread(build, new_zero, 0, 0, dtype)
    if dtype == _LONG:
        value = build.op("add", _fixed_product(build, call, whole, rank), new)
        return clipped(build, value, dtype_of(call))
    factor = build.op("divide", spread(build, scale, rank, a.axis), spread(build, new_scale, 0, 0))
    value = product(build, whole, build.op("astype", factor, dtype=dtype))
    if a.is_exact:
        value = build.op("add", rounded(build, value, rounding), new)
    else:
        value = build.op("astype", rounded(build, build.op("add", value, new), rounding), dtype=REAL)
    return clipped(build, value, dtype_of(call))


def _fixed_product(build: Build, call: Call, whole: Any, rank: int) -> Any:
    """Integers times the quotient of the call's scales, by multipliers and shifts."""
    scale, new_scale = (_constant(call, position) for position in (1, 3))
    factor = scale / new_scale
    if (np.abs(factor) >= LARGE).any():
        raise fail("relay-qnn", f"scales {scale} and {new_scale} are too far apart for int64", span=call.span)
    along = tuple(-1 if i == call.attrs.axis % rank else 1 for i in range(rank)) if factor.ndim else ()
    number, right = (v.reshape(along) for v in fixed_point(factor))
    scaled, half = build.op("multiply", whole, build.const(number, _LONG)), build.const(right - 1, _LONG)
    if call.attrs.effective_rounding == "UPWARD":
        return _halves_up(build, scaled, half)
    up = _halves_up(build, build.op("abs", scaled), half)
    return build.op("where", build.op("less", scaled, 0), build.op("negative", up), up)


def _halves_up(build: Build, scaled: Any, half: Any) -> Any:
    """Shift right by one more than `half`, without an intermediate sum that could overflow."""
    above = build.op("add", build.op("right_shift", scaled, half), 1)
    return build.op("right_shift", above, 1)


def _constant(call: Call, position: int) -> Any:
    scale = call.args[position]
    if not isinstance(scale, Constant):
        message = "compute_dtype int64 needs scales that are constants"
        help = "bind them, or compute in float64"
        raise fail("relay-qnn", message, span=call.span, help=help)
    return np.asarray(scale.data.data, REAL)
