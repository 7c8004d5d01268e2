"""Functions with special cases: signs of zeros, angles, infinity and NaN, precision near zero."""

from __future__ import annotations

import math

from baton._src.frontends.graph_builder import angles, near_zero
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar

Operand = Value | Scalar


def sign(node: AtenNode, x: Value) -> Value:
    """-1, 0 or 1; NaN has no sign, and bools are theirs."""
    g = node.graph
    if x.dtype.is_bool:
        return x
    found = g.call("sign", x)
    return g.call("where", g.call("isnan", x), g.scalar(0, x), found) if x.dtype.is_float else found


def copysign(node: AtenNode, x: Operand, y: Operand) -> Value:
    """The size of one, the sign of the other."""
    g, dtype = node.graph, node.dtype
    size = g.call("abs", node.tensor(x, dtype))
    return g.call("where", angles.is_negative(g, node.tensor(y, dtype)), g.call("negative", size), size)


def expm1(node: AtenNode, x: Value) -> Value:
    return near_zero.expm1(node.graph, node.graph.cast(x, node.dtype))


def log1p(node: AtenNode, x: Value) -> Value:
    return near_zero.log1p(node.graph, node.graph.cast(x, node.dtype))


def atan2(node: AtenNode, y: Operand, x: Operand) -> Value:
    return angles.atan2(node.graph, *(node.tensor(o, node.dtype) for o in (y, x)))


def nan_to_num(node: AtenNode, x: Value, nan: float | None, high: float | None, low: float | None) -> Value:
    g = node.graph
    if not x.dtype.is_float:
        return x
    largest = x.dtype.largest_float
    found = g.call("where", g.call("isnan", x), g.scalar(nan or 0.0, x), x)
    infinite = g.call("isinf", x)
    positive, negative = (g.call(op, x, g.scalar(0, x)) for op in ("greater", "less"))
    top = g.scalar(largest if high is None else high, x)
    bottom = g.scalar(-largest if low is None else low, x)
    found = g.call("where", g.call("logical_and", infinite, positive), top, found)
    return g.call("where", g.call("logical_and", infinite, negative), bottom, found)


def signbit(node: AtenNode, x: Value) -> Value:
    g = node.graph
    return g.broadcast_to(g.constant(False), node.sizes(x)) if x.dtype.is_bool else angles.is_negative(g, x)


def hypotenuse(node: AtenNode, x: Value, y: Value) -> Value:
    """sqrt(x² + y²), where no square overflows."""
    g = node.graph
    a, b = (g.call("abs", node.tensor(v, node.dtype)) for v in (x, y))
    large, small = g.call("maximum", a, b), g.call("minimum", a, b)
    plain = g.call("logical_or", g.call("equal", large, g.scalar(0, a)), g.call("isinf", large))
    ratio = g.call("where", plain, g.scalar(0, a), g.call("divide", small, large))
    whole = g.call("sqrt", g.call("add", g.call("multiply", ratio, ratio), g.scalar(1, a)))
    endless = g.call("logical_or", g.call("isinf", a), g.call("isinf", b))  # whatever the other one is, NaN too
    return g.call("where", endless, g.scalar(math.inf, a), g.call("multiply", large, whole))


def numeric(op: str) -> Converter:
    """`fmax` and `fmin`: a number is preferred to NaN."""

    def convert(node: AtenNode, x: Operand, y: Operand) -> Value:
        g, dtype = node.graph, node.dtype
        a, b = (node.tensor(o, dtype) for o in (x, y))
        if dtype.is_bool:
            return g.call({"maximum": "logical_or", "minimum": "logical_and"}[op], a, b)
        found = g.call(op, a, b)
        if not dtype.is_float:
            return found
        found = g.call("where", g.call("isnan", a), b, found)
        return g.call("where", g.call("isnan", b), a, found)

    return convert


def exp2(node: AtenNode, x: Value) -> Value:
    g, wide = node.graph, node.graph.cast(x, node.dtype)
    return g.call("power", g.scalar(2, wide), wide)


def round_decimals(node: AtenNode, x: Value, *, decimals: int) -> Value:
    """Rounded to that many places behind the point; before it, where there are fewer than none."""
    g = node.graph
    if not decimals or not x.dtype.is_float:
        return g.call("round", x) if x.dtype.is_float else x
    wide = node.widened(x)
    scale = g.scalar(10.0 ** abs(decimals), wide)
    there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    return g.cast(g.call(back, g.call("round", g.call(there, wide, scale)), scale), x.dtype)


def angle(node: AtenNode, x: Value) -> Value:
    """Of real numbers: pi below zero, and NaN of NaN."""
    g = node.graph
    wide = g.cast(x, node.dtype)
    zero = g.scalar(0, wide)
    turned = g.call("where", g.call("less", wide, zero), g.scalar(math.pi, wide), zero)
    return g.call("where", g.call("isnan", wide), wide, turned)


SPECIAL: dict[str, Converter] = {
    "aten.sign.default": sign, "aten.sgn.default": sign, "aten.signbit.default": signbit,
    **{f"aten.copysign.{kind}": copysign for kind in ("Tensor", "Scalar")}, "aten.hypot.default": hypotenuse,
    "aten.angle.default": angle, "aten.atan2.default": atan2, "aten.expm1.default": expm1, "aten.log1p.default": log1p,
    "aten.exp2.default": exp2,
    "aten.nan_to_num.default": nan_to_num, "aten.fmax.default": numeric("maximum"),
    "aten.fmin.default": numeric("minimum"), "aten.round.decimals": round_decimals,
}  # fmt: skip
