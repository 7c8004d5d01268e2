"""Elementwise operators: arithmetic, comparisons, logic, rounding, selection. Operands are promoted as PyTorch does."""

from __future__ import annotations

import math
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar
from baton._src.frontends.torch.operators.special import Operand, sign
from baton._src.values.dtype import BOOL, FLOAT32


def unary(op: str) -> Converter:
    """The operator `op` of the catalogue; integers become floats first where PyTorch's result is one."""

    def convert(node: AtenNode, x: Value) -> Value:
        return node.graph.call(op, node.graph.cast(x, node.dtype))

    return convert


def predicate(op: str) -> Converter:
    """`op` asks something of floats; integers are never it (or always, for `isfinite`)."""

    def convert(node: AtenNode, x: Value) -> Value:
        return node.graph.call(op, x if x.dtype.is_float else node.graph.cast(x, FLOAT32))

    return convert


def rounding(op: str) -> Converter:
    """Integers are round as they are."""

    def convert(node: AtenNode, x: Value) -> Value:
        return node.graph.call(op, x) if x.dtype.is_float else x

    return convert


def binary(op: str, logical: str | None = None) -> Converter:
    """`op` in the dtype of the result; `logical` is its meaning for bools."""

    def convert(node: AtenNode, x: Operand, y: Operand) -> Value:
        found = node.graph.call(logical if logical and node.dtype.is_bool else op, *node.computed(x, y))
        return node.graph.cast(found, node.dtype)

    return convert


def comparison(op: str) -> Converter:
    """`op` in the common dtype of the operands; bools compare as numbers."""

    def convert(node: AtenNode, x: Operand, y: Operand) -> Value:
        a, b = node.promoted(x, y)
        if a.dtype.is_bool:
            a, b = (node.graph.cast(v, "int8") for v in (a, b))
        return node.graph.call(op, a, b)

    return convert


def logical(op: str) -> Converter:
    """`op` on what is not zero."""

    def convert(node: AtenNode, *operands: Operand) -> Value:
        return node.graph.call(op, *(truth(node, o) for o in operands))

    return convert


def truth(node: AtenNode, x: Operand) -> Value:
    """Whether elements are not zero."""
    if not isinstance(x, Value):
        return node.tensor(x, BOOL)
    return x if x.dtype.is_bool else node.graph.call("not_equal", x, node.graph.scalar(0, x))


def scaled(op: str) -> Converter:
    """x op alpha * y"""

    def convert(node: AtenNode, x: Operand, y: Operand, alpha: Scalar = 1, **given: Any) -> Value:
        alpha = given.get("alpha", alpha)
        g = node.graph
        a, b, factor = node.computed(x, y, alpha)
        if not isinstance(alpha, int) or alpha != 1:
            b = g.call("multiply", b, factor)
        return g.cast(g.call("logical_or" if node.dtype.is_bool else op, a, b), node.dtype)

    return convert


def reverse_subtract(node: AtenNode, x: Operand, y: Operand, alpha: Scalar = 1) -> Value:
    """y - alpha * x"""
    found: Value = scaled("subtract")(node, y, x, alpha)
    return found


def divide(node: AtenNode, x: Operand, y: Operand, *, rounding_mode: str | None = None) -> Value:
    """True division gives floats; `trunc` and `floor` keep integers."""
    g, dtype = node.graph, node.dtype
    a, b = node.computed(x, y)
    if rounding_mode is None:
        return g.cast(g.call("divide", a, b), dtype)
    if dtype.is_float:
        return g.cast(_rounded_quotient(node, a, b, rounding_mode), dtype)
    return g.call("trunc_divide" if rounding_mode == "trunc" else "floor_divide", a, b)


def _rounded_quotient(node: AtenNode, a: Value, b: Value, rounding_mode: str) -> Value:
    """Of floats. The floor is that of the exact quotient, as Python's: it comes from the remainder."""
    g = node.graph
    if rounding_mode == "trunc":
        return g.call("trunc", g.call("divide", a, b))
    quotient, rest = g.call("divide", a, b), g.call("floor_mod", a, b)
    exact = g.call("round", g.call("divide", g.call("subtract", a, rest), b))
    endless = g.call("logical_or", g.call("equal", b, g.scalar(0, b)), g.call("isinf", b))
    return g.call("where", endless, _floor_of_endless(node, a, b, quotient), exact)


def _floor_of_endless(node: AtenNode, a: Value, b: Value, quotient: Value) -> Value:
    """Floors of quotients by zero, and by infinity: the next number below zero is -1, however near it is."""
    g = node.graph
    zero = g.scalar(0, a)
    below = g.call("less", g.call("multiply", sign(node, a), sign(node, b)), zero)
    finite = g.call("logical_and", g.call("isinf", b), g.call("logical_not", g.call("isinf", a)))
    found = g.call("where", g.call("logical_and", finite, below), g.scalar(-1, a), quotient)
    both = g.call("logical_and", g.call("isinf", b), g.call("isinf", a))
    return g.call("where", both, g.scalar(math.nan, a), found)


def floor_divide(node: AtenNode, x: Operand, y: Operand) -> Value:
    return divide(node, x, y, rounding_mode="floor")


def remainder(node: AtenNode, x: Operand, y: Operand) -> Value:
    """With the sign of the divisor."""
    a, b = (node.tensor(o, node.dtype) for o in (x, y))
    return node.graph.call("floor_mod", a, b)


def fmod(node: AtenNode, x: Operand, y: Operand) -> Value:
    """With the sign of the dividend."""
    a, b = (node.tensor(o, node.dtype) for o in (x, y))
    return node.graph.call("trunc_mod", a, b)


def power(node: AtenNode, x: Operand, y: Operand) -> Value:
    g, dtype = node.graph, node.dtype
    if isinstance(x, Value) and isinstance(y, (int, float)) and dtype.is_float:
        base = g.cast(x, dtype)
        if y == 2:
            return g.call("multiply", base, base)
        if y == 1:
            return base
        if y in (0.5, -0.5):
            return g.call("sqrt" if y > 0 else "rsqrt", base)
    return g.call("power", node.tensor(x, dtype), node.tensor(y, dtype))


def reciprocal(node: AtenNode, x: Value) -> Value:
    wide = node.graph.cast(x, node.dtype)
    return node.graph.call("divide", node.graph.scalar(1, wide), wide)


def square(node: AtenNode, x: Value) -> Value:
    wide = node.graph.cast(x, node.dtype)
    return node.graph.call("multiply", wide, wide)


def clamp(node: AtenNode, x: Value, low: Operand | None = None, high: Operand | None = None) -> Value:
    """NaN stays NaN; where the bounds cross, the upper one holds."""
    g, dtype = node.graph, node.dtype
    found = g.cast(x, dtype)
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and dtype.is_float and low <= high:
        return g.call("clip", found, min=float(low), max=float(high))
    if low is not None:
        found = g.call("maximum", found, node.tensor(low, dtype))
    return found if high is None else g.call("minimum", found, node.tensor(high, dtype))


def clamp_high(node: AtenNode, x: Value, high: Operand) -> Value:
    return clamp(node, x, None, high)


def where(node: AtenNode, condition: Value, x: Operand, y: Operand) -> Value:
    a, b = (node.tensor(o, node.dtype) for o in (x, y))
    return node.graph.call("where", truth(node, condition), a, b)


def masked_fill(node: AtenNode, x: Value, mask: Value, value: Operand) -> Value:
    return node.graph.call("where", mask, node.tensor(value, node.dtype), x)


def to_dtype(node: AtenNode, x: Operand, *_: Any, **__: Any) -> Value:
    """A conversion: of dtypes, where devices and layouts mean nothing. What is not zero becomes True."""
    return truth(node, x) if node.dtype.is_bool else node.tensor(x, node.dtype)


def identity(node: AtenNode, x: Value, *_: Any, **__: Any) -> Value:
    return x


def bitwise_not(node: AtenNode, x: Value) -> Value:
    return node.graph.call("logical_not" if x.dtype.is_bool else "bitwise_not", x)


def absolute(node: AtenNode, x: Value) -> Value:
    return x if x.dtype.is_bool else node.graph.call("abs", x)


def fused(node: AtenNode, a: Value, b: Value, c: Value) -> Value:
    """a * b + c: what `torch.compile` makes of steps of optimizers whose numbers are tensors."""
    a, b, c = (node.tensor(o, node.dtype) for o in (a, b, c))
    return node.graph.call("add", node.graph.call("multiply", a, b), c)


def addcmul(node: AtenNode, x: Value, a: Value, b: Value, *, value: Scalar = 1) -> Value:
    """x + value * a * b"""
    return _more(node, "multiply", x, a, b, value)


def addcdiv(node: AtenNode, x: Value, a: Value, b: Value, *, value: Scalar = 1) -> Value:
    """x + value * a / b"""
    return _more(node, "divide", x, a, b, value)


def _more(node: AtenNode, op: str, x: Value, a: Value, b: Value, value: Scalar) -> Value:
    """x + (value * a) op b, in PyTorch's order: what overflows in another one need not in this."""
    g = node.graph
    start, first, second = (node.widened(g.cast(v, node.dtype)) for v in (x, a, b))
    if not isinstance(value, (int, float)) or value != 1:
        first = g.call("multiply", first, node.tensor(value, first.dtype))
    return g.cast(g.call("add", start, g.call(op, first, second)), node.dtype)


def lerp(node: AtenNode, start: Value, end: Value, weight: Operand) -> Value:
    """start + weight * (end - start), seen from the end that is nearer: a weight of 1 gives exactly that."""
    g = node.graph
    low, high, share = (node.widened(node.tensor(v, node.dtype)) for v in (start, end, weight))
    step = g.call("subtract", high, low)
    left = g.call("add", low, g.call("multiply", share, step))
    right = g.call("subtract", high, g.call("multiply", step, g.call("subtract", g.scalar(1, share), share)))
    if isinstance(weight, (int, float)):
        return g.cast(left if abs(weight) < 0.5 else right, node.dtype)
    near = g.call("less", g.call("abs", share), g.scalar(0.5, share))
    return g.cast(g.call("where", near, left, right), node.dtype)


_UNARY = {
    "acos": "acos", "acosh": "acosh", "asin": "asin", "asinh": "asinh", "atan": "atan", "atanh": "atanh", "cos": "cos",
    "cosh": "cosh", "erf": "erf", "exp": "exp", "log": "log", "log10": "log10", "log2": "log2", "neg": "negative",
    "rsqrt": "rsqrt", "sigmoid": "sigmoid", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "tan": "tan",
    "tanh": "tanh",
}  # fmt: skip
_COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}  # fmt: skip
_BITWISE = {
    "bitwise_and": ("bitwise_and", "logical_and"), "bitwise_or": ("bitwise_or", "logical_or"),
    "bitwise_xor": ("bitwise_xor", "logical_xor"),
}  # fmt: skip

ELEMENTWISE: dict[str, Converter] = {
    **{f"aten.{aten}.default": unary(op) for aten, op in _UNARY.items()},
    **{f"aten.{aten}.{kind}": comparison(op) for aten, op in _COMPARISONS.items() for kind in ("Tensor", "Scalar")},
    **{
        f"aten.{aten}.{kind}": binary(op, for_bools)
        for aten, (op, for_bools) in _BITWISE.items()
        for kind in ("Tensor", "Scalar", "Scalar_Tensor")
    },
    **{f"aten.add.{kind}": scaled("add") for kind in ("Tensor", "Scalar")},
    **{f"aten.sub.{kind}": scaled("subtract") for kind in ("Tensor", "Scalar")},
    **{f"aten.rsub.{kind}": reverse_subtract for kind in ("Tensor", "Scalar")},
    **{f"aten.mul.{kind}": binary("multiply", "logical_and") for kind in ("Tensor", "Scalar")},
    **{f"aten.div.{kind}": divide for kind in ("Tensor", "Scalar", "Tensor_mode", "Scalar_mode")},
    "aten.true_divide.Tensor": divide,
    **{f"aten.floor_divide.{kind}": floor_divide for kind in ("default", "Scalar")},
    **{f"aten.remainder.{kind}": remainder for kind in ("Tensor", "Scalar", "Scalar_Tensor")},
    **{f"aten.fmod.{kind}": fmod for kind in ("Tensor", "Scalar")},
    **{f"aten.pow.{kind}": power for kind in ("Tensor_Tensor", "Tensor_Scalar", "Scalar")},
    **{f"aten.clamp.{kind}": clamp for kind in ("default", "Tensor")},
    **{f"aten.clamp_min.{kind}": clamp for kind in ("default", "Tensor")},
    **{f"aten.clamp_max.{kind}": clamp_high for kind in ("default", "Tensor")},
    **{f"aten.where.{kind}": where for kind in ("self", "ScalarSelf", "ScalarOther", "Scalar")},
    **{f"aten.masked_fill.{kind}": masked_fill for kind in ("Scalar", "Tensor")},
    **{f"aten.lerp.{kind}": lerp for kind in ("Scalar", "Tensor")},
    **{f"aten.to.{kind}": to_dtype for kind in ("dtype", "device", "dtype_layout", "other")},
    "aten._to_copy.default": to_dtype, "prims.convert_element_type.default": to_dtype, "aten.type_as.default": to_dtype,
    **{f"aten.{name}.default": identity for name in ("alias", "clone", "contiguous", "detach", "lift_fresh_copy")},
    **{f"aten.{name}.default": identity for name in ("alias_copy", "detach_copy")},
    **{
        f"aten.bitwise_{way}_shift.{kind}": binary(f"{way}_shift")
        for way in ("left", "right")
        for kind in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")
    },
    **{f"aten.__lshift__.{kind}": binary("left_shift") for kind in ("Tensor", "Scalar")},
    **{f"aten.__rshift__.{kind}": binary("right_shift") for kind in ("Tensor", "Scalar")},
    **{f"aten.{name}.default": rounding(name) for name in ("ceil", "floor", "round", "trunc")},
    **{f"aten.{name}.default": predicate(name) for name in ("isnan", "isinf", "isfinite")},
    **{f"aten.{name}.default": logical(name) for name in ("logical_and", "logical_or", "logical_xor", "logical_not")},
    "aten.maximum.default": binary("maximum", "logical_or"), "aten.minimum.default": binary("minimum", "logical_and"),
    "aten.max.other": binary("maximum", "logical_or"), "aten.min.other": binary("minimum", "logical_and"),
    "aten.abs.default": absolute, "aten.bitwise_not.default": bitwise_not, "aten.square.default": square,
    "aten.reciprocal.default": reciprocal, "aten.addcmul.default": addcmul, "aten.addcdiv.default": addcdiv,
    "prims.fma.default": fused,
}  # fmt: skip
