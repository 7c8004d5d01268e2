"""SimplifyExpr's rules about arithmetic with constants, clips, arguments of extrema, and operators "like" another.

    x + x               x * 2                     c / sqrt(x)             c * rsqrt(x)
    (x + c) + d         x + (c + d)               clip to a dtype's range        x
    (x * c) * d         x * (c * d)               cast(cast(clip(x, 0, 9), "uint8"), "int32")    clip(x, 0, 9)
    (x + c) * d         x * d + c * d             argmax(dequantize(x))   argmax(x)
    x + full(c)         x + c                     zeros_like(x)           zeros(shape of x)

Floats may be rounded differently than before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.passes.relay.building import Build, dtype_of, is_call, shape_of
from baton._src.passes.relay.operators.simplify_binomial import binomial
from baton._src.passes.relay.operators.simplify_chains import holds_integers, keeps_all
from baton._src.relay.nodes import Call, Constant
from baton._src.values.dtype import DataType

BINARY = ("add", "subtract", "multiply", "divide", "floor_divide", "mod", "floor_mod", "maximum", "minimum", "power")
MATTERING_CLIPS = ("qnn.requantize", "qnn.add")
"""Operators after which a clip is kept, because external compilers match the pair."""


def _split(call: Call, name: str) -> tuple[Any, Constant] | None:
    """A commutative call of `name` as (operand, constant); None if it is no such call."""
    if not is_call(call, name):
        return None
    left, right = call.args
    if isinstance(right, Constant) and not isinstance(left, Constant):
        return left, right
    return (right, left) if isinstance(left, Constant) and not isinstance(right, Constant) else None


def _combined(build: Build, name: str, one: Constant, other: Constant) -> Any:
    """Combine two constants; None if floats overflow where the program's own order might not, or vanish (the product of
    two small factors is 0, while a large number times one of them may be times the other). Integers wrap alike."""
    left, right = one.data.data, other.data.data
    with np.errstate(all="ignore"):
        made = np.add(left, right) if name == "add" else left * right
    dtype = dtype_of(one)
    if dtype.is_bool or (dtype.is_float and not np.isfinite(made.astype(np.float64)).all()):
        return None
    if dtype.is_float and name == "multiply":
        vanishes = (np.abs(made) < dtype.smallest_normal) & (left != 0) & (right != 0)
        if vanishes.any():
            return None
    return build.const(made, dtype)


def doubled(build: Build, call: Call) -> Any:
    """x + x"""
    if not is_call(call, "add") or call.args[0] is not call.args[1] or dtype_of(call).is_bool:
        return None
    return build.op("multiply", call.args[0], build.const(2, dtype_of(call)))


def adjacent(build: Build, call: Call) -> Any:
    """(x + c) + d and (x * c) * d."""
    for name in ("add", "multiply"):
        outer = _split(call, name)
        inner = _split(outer[0], name) if outer is not None else None
        if outer is None or inner is None:
            continue
        constant = _combined(build, name, inner[1], outer[1])
        made = build.op(name, inner[0], constant) if constant is not None else None
        if made is not None and shape_of(made) == shape_of(call) is not None:
            return made
    return None


def add_then_multiply(build: Build, call: Call) -> Any:
    """(x + c) * d: the scale is applied first, where it can be folded into weights."""
    outer = _split(call, "multiply")
    inner = _split(outer[0], "add") if outer is not None else None
    if outer is None or inner is None:
        return None
    constant = _combined(build, "multiply", inner[1], outer[1])
    if constant is None:
        return None
    made = build.op("add", build.op("multiply", inner[0], outer[1]), constant)
    return made if shape_of(made) == shape_of(call) is not None else None


def reciprocal_root(build: Build, call: Call) -> Any:
    """c / sqrt(x)"""
    if not is_call(call, "divide") or not is_call(call.args[1], "sqrt") or not dtype_of(call).is_float:
        return None
    return build.op("multiply", call.args[0], build.op("rsqrt", call.args[1].args[0]))


def _fill(build: Build, expr: Any) -> Any:
    """The value that fills a tensor, as a scalar; None if its elements differ."""
    if is_call(expr, "full"):
        return expr.args[0]
    if is_call(expr, "ones", "ones_like"):
        return build.const(1.0, dtype_of(expr))
    if is_call(expr, "zeros", "zeros_like"):
        return build.const(0.0, dtype_of(expr))
    return None


def filled_operand(build: Build, call: Call) -> Any:
    """Replace a filled tensor by a scalar where broadcasting gives the same result."""
    if not is_call(call, *BINARY):
        return None
    for position in (0, 1):
        other, arg = call.args[1 - position], call.args[position]
        scalar = _fill(build, arg)
        if scalar is None or shape_of(scalar) != () or shape_of(other) is None or shape_of(other) != shape_of(call):
            continue
        if dtype_of(scalar) != dtype_of(arg) or shape_of(other) == ():
            continue
        return build.op(call.op.definition.name, *((scalar, other) if position == 0 else (other, scalar)))
    return None


def needless_clip(build: Build, call: Call) -> Any:
    """Remove a clip that no value of the dtype reaches, or that a cast back makes redundant."""
    if is_call(call, "clip"):
        reaches = not _holds(call.attrs, dtype_of(call))
        return None if reaches or is_call(call.args[0], *MATTERING_CLIPS) else call.args[0]
    if not is_call(call, "cast") or not is_call(call.args[0], "clip"):
        return None
    clip = call.args[0]
    source, wide, dtype = clip.args[0], dtype_of(clip), dtype_of(call)
    if (
        not is_call(source, "cast")
        or dtype_of(source.args[0]) != dtype
        or not wide.is_int
        or not keeps_all(dtype, wide)
    ):
        return None
    return source.args[0] if _holds(clip.attrs, dtype) else None


def _holds(clip: Any, dtype: DataType) -> bool:
    """Whether every value of the dtype lies between the bounds."""
    if dtype.is_float:
        return bool(clip.a_min == -np.inf and clip.a_max == np.inf)
    low, high = dtype.int_range
    return not dtype.is_bool and clip.a_min <= low and clip.a_max >= high


def cast_of_clipped(build: Build, call: Call) -> Any:
    """Remove a cast between a clip of integers and another cast, if its dtype holds every clipped value."""
    if not is_call(call, "cast") or not is_call(call.args[0], "cast") or not is_call(call.args[0].args[0], "clip"):
        return None
    clip, between = call.args[0].args[0], dtype_of(call.args[0])
    if dtype_of(clip).is_float or not holds_integers(between, clip.attrs.a_min, clip.attrs.a_max):
        return None
    return clip if dtype_of(clip) == dtype_of(call) else build.op("cast", clip, dtype=dtype_of(call))


def extremum_of_dequantized(build: Build, call: Call) -> Any:
    """The position of the largest number does not depend on a positive scale."""
    if not is_call(call, "argmax", "argmin", "argsort", "argmax_int32", "argmin_int32"):
        return None
    inner = call.args[0]
    if not is_call(inner, "dequantize") or not isinstance(inner.args[1], Constant):
        return None
    scale = inner.args[1].data.data
    if shape_of(inner.args[2]) != () or scale.size != 1 or not float(scale.reshape(()).item()) > 0:
        return None
    return build.call(Call(call.op, (inner.args[0],), call.attrs))


def like_another(build: Build, call: Call) -> Any:
    """Use the shape (or dtype) of the other tensor directly, where it is known."""
    shape = shape_of(call)
    if is_call(call, "cast_like"):
        return build.op("cast", call.args[0], dtype=dtype_of(call))
    if shape is None:
        return None
    if is_call(call, "zeros_like", "ones_like"):
        return build.op(call.op.name.removesuffix("_like"), shape=shape, dtype=dtype_of(call))
    if is_call(call, "full_like"):
        return build.op("full", shape, call.args[1], dtype=dtype_of(call))
    if is_call(call, "reshape_like"):
        return build.op("reshape", call.args[0], newshape=shape)
    if is_call(call, "broadcast_to_like", "collapse_sum_like"):
        x = call.args[0]
        if shape_of(x) == shape:
            return x
        return build.op({"broadcast_to_like": "broadcast_to"}.get(call.op.name, "collapse_sum_to"), x, shape=shape)
    return None


RULES: tuple[Callable[[Build, Call], Any], ...] = (
    doubled,
    adjacent,
    add_then_multiply,
    reciprocal_root,
    filled_operand,
    needless_clip,
    cast_of_clipped,
    extremum_of_dequantized,
    like_another,
    binomial,
)
