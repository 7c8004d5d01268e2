"""SimplifyExpr's rules about arithmetic with constants, clips, arguments of extrema, and operators "like" another.

    (x + c) + d         x + (c + d)               c / sqrt(x)             c * rsqrt(x)
    (x * c) * d         x * (c * d)               clip to a dtype's range        x
    (x + c) * d         x * d + c * d             argmax(dequantize(x))   argmax(x)
    x + full(c)         x + c                     x*x + 2*x*y + y*y       (x + y) * (x + y)
    zeros_like(x)       zeros(shape of x)         reshape_like(x, y)      reshape(x, shape of y)

Floats are rounded in another order than before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.passes.relay.building import Build, dtype_of, is_call, shape_of
from baton._src.relay.nodes import Call, Constant

MAX_ELEMENTS = 1024
"""Constants up to this size are looked at."""
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power")


def _split(call: Call, name: str) -> tuple[Any, Constant] | None:
    """A commutative call of `name` as (operand, constant); None if it is no such call."""
    if not is_call(call, name):
        return None
    left, right = call.args
    if isinstance(right, Constant) and not isinstance(left, Constant):
        return left, right
    return (right, left) if isinstance(left, Constant) and not isinstance(right, Constant) else None


def _combined(build: Build, name: str, one: Constant, other: Constant) -> Any:
    """Two constants in one, no larger than the larger of them (or None)."""
    a, b = one.data.data, other.data.data
    made = a + b if name == "add" else a * b
    if made.size > max(a.size, b.size) or not dtype_of(one).is_float:
        return None
    return build.const(made, dtype_of(one))


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
    """(x + c) * d: the scale comes first, where it may go into weights."""
    outer = _split(call, "multiply")
    inner = _split(outer[0], "add") if outer is not None else None
    if outer is None or inner is None:
        return None
    constant = _combined(build, "multiply", inner[1], outer[1])
    if constant is None or not np.all(np.isfinite(constant.data.data)):
        return None
    made = build.op("add", build.op("multiply", inner[0], outer[1]), constant)
    return made if shape_of(made) == shape_of(call) is not None else None


def reciprocal_root(build: Build, call: Call) -> Any:
    """c / sqrt(x)"""
    if not is_call(call, "divide") or not is_call(call.args[1], "sqrt") or not dtype_of(call).is_float:
        return None
    return build.op("multiply", call.args[0], build.op("rsqrt", call.args[1].args[0]))


def _fill(build: Build, expr: Any) -> Any:
    """The one number that a tensor is made of, as a scalar; None if it is no such tensor."""
    if is_call(expr, "full"):
        return expr.args[0]
    if is_call(expr, "ones", "ones_like"):
        return build.const(1.0, dtype_of(expr))
    if is_call(expr, "zeros", "zeros_like"):
        return build.const(0.0, dtype_of(expr))
    if isinstance(expr, Constant) and 1 < expr.data.data.size <= MAX_ELEMENTS:
        flat = expr.data.data.reshape(-1)
        return build.const(flat[0], dtype_of(expr)) if (flat == flat[0]).all() else None
    return None


def filled_operand(build: Build, call: Call) -> Any:
    """An operand that broadcasting makes as well from a scalar."""
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
    """A clip that no value of the dtype reaches; and one that a cast back makes needless."""
    if is_call(call, "clip"):
        dtype = dtype_of(call)
        if (dtype.is_int or dtype.kind == "uint") and not dtype.is_bool:
            low, high = dtype.int_range
            return call.args[0] if call.attrs.a_min <= low and call.attrs.a_max >= high else None
        return None
    if not is_call(call, "astype", "cast") or not is_call(call.args[0], "clip"):
        return None
    clip = call.args[0]
    source, wide = clip.args[0], dtype_of(clip)
    if not is_call(source, "astype", "cast") or dtype_of(source.args[0]) != dtype_of(call) or not wide.is_int:
        return None
    dtype = dtype_of(call)
    if dtype.is_float or dtype.is_bool or wide.bits <= dtype.bits:
        return None
    low, high = dtype.int_range
    return source.args[0] if clip.attrs.a_min <= low and clip.attrs.a_max >= high else None


def extremum_of_dequantized(build: Build, call: Call) -> Any:
    """Where the largest number is does not depend on a positive scale."""
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
    """The shape (or dtype) of another tensor, where it is known."""
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


def binomial(build: Build, call: Call) -> Any:
    """x*x + 2*x*y + y*y, the middle as 2 * (x * y) or (2 * x) * y, in either order."""
    if not is_call(call, "add") or not dtype_of(call).is_float:
        return None
    for first, last in (call.args, call.args[::-1]):
        square = _square(last)
        if square is None or not is_call(first, "add"):
            continue
        for one, two in (first.args, first.args[::-1]):
            other = _square(one)
            if other is not None and _is_twice(two, other, square):
                both = build.op("add", other, square)
                return build.op("multiply", both, both)
    return None


def _square(expr: Any) -> Any:
    same = is_call(expr, "multiply") and expr.args[0] is expr.args[1]
    return expr.args[0] if same else None


def _is_twice(expr: Any, x: Any, y: Any) -> bool:
    """Whether `expr` is 2 * x * y."""
    factors: list[Any] = []
    work = [expr]
    while work:
        top = work.pop()
        if is_call(top, "multiply") and len(factors) + len(work) < 3 and top not in (x, y):
            work += top.args
        else:
            factors.append(top)
    twos = [f for f in factors if isinstance(f, Constant) and f.data.data.size == 1 and float(f.data.data.item()) == 2]
    rest = [f for f in factors if f not in twos]
    return len(twos) == 1 and len(rest) == 2 and {*rest} == {x, y} and (x is not y or rest[0] is rest[1])


RULES: tuple[Callable[[Build, Call], Any], ...] = (
    adjacent,
    add_then_multiply,
    reciprocal_root,
    filled_operand,
    needless_clip,
    extremum_of_dequantized,
    like_another,
    binomial,
)
