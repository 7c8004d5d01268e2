"""Operations on elements: arithmetic, comparisons, functions, casts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from baton._src.frontends.graph_builder import angles, near_zero
from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.stablehlo.error_function import erf_inverse
from baton._src.frontends.stablehlo.literals import dense
from baton._src.frontends.stablehlo.node import Converter, Node
from baton._src.frontends.stablehlo.text import Operation
from baton._src.values.dtype import DataType

_OF_BOOLS = {
    "add": "logical_or", "maximum": "logical_or", "multiply": "logical_and", "minimum": "logical_and",
    "bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor",
}  # fmt: skip
_COMPARISONS = {
    "EQ": "equal", "NE": "not_equal", "LT": "less", "LE": "less_equal", "GT": "greater", "GE": "greater_equal",
}  # fmt: skip


def combined(g: GraphBuilder, op: str, a: Value, b: Value) -> Value:
    """`op` of two tensors; of bools it is one of logic. Sizes that only a run tells stay sizes."""
    if a.dtype.is_bool:
        return g.call(_OF_BOOLS[op], a, b)
    if a.dtype.is_int and op in _OF_SIZES and (a.dims is not None or b.dims is not None):
        left, right = a.contents(), b.contents()
        if left is not None and right is not None:
            pairs = zip(left.reshape(-1), np.broadcast_to(right, left.shape).reshape(-1), strict=True)
            found = np.empty(left.size, dtype=object)
            found[:] = [_OF_SIZES[op](x, y) for x, y in pairs]
            return g.dims(found.reshape(left.shape), a.dtype)
    return g.call(op, a, b)


_OF_SIZES: dict[str, Callable[..., object]] = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "trunc_divide": lambda x, y: x // y,
}
"""Quotients of sizes, which are not negative."""


def binary(op: str) -> Converter:
    return lambda node: combined(node.graph, op, *node.operands)


def unary(op: str) -> Converter:
    return lambda node: node.graph.call(op, *node.operands)


def written(write: Callable[[GraphBuilder, Value], Value]) -> Converter:
    """A function that is no operator of its own."""
    return lambda node: write(node.graph, *node.operands)


def divide(node: Node) -> Value:
    return combined(node.graph, "divide" if node.info.dtype.is_float else "trunc_divide", *node.operands)


def logical_not(node: Node) -> Value:
    return node.graph.call("logical_not" if node.info.dtype.is_bool else "bitwise_not", *node.operands)


def shift_right_logical(node: Node) -> Value:
    """Zeros come in from the left, whatever the sign."""
    g, (x, count) = node.graph, node.operands
    plain = DataType(f"uint{x.dtype.bits}")
    found = g.cast(g.call("right_shift", g.cast(x, plain), g.cast(count, plain)), x.dtype)
    return g.call("where", _in_range(g, count), found, g.scalar(0, x))


def shift_left(node: Node) -> Value:
    g, (x, count) = node.graph, node.operands
    return g.call("where", _in_range(g, count), g.call("left_shift", x, count), g.scalar(0, x))


def _in_range(g: GraphBuilder, count: Value) -> Value:
    """Whether shifts leave anything: by as many bits as there are, nothing is left."""
    bits = count.dtype.bits
    return g.call("less", g.cast(count, f"uint{bits}"), g.constant(bits, f"uint{bits}"))


def compare(node: Node) -> Value:
    g, (a, b) = node.graph, node.operands
    if a.dtype.is_bool:
        a, b = g.cast(a, "int8"), g.cast(b, "int8")
    return g.call(_COMPARISONS[direction(node.op)], a, b)


def direction(comparison: Operation) -> str:
    """`EQ`, `LT`, ..."""
    given = comparison.attrs.get("comparison_direction")
    return str(next((w for w in comparison.words if w in _COMPARISONS), given))


def select(node: Node) -> Value:
    return node.graph.call("where", *node.operands)


def clamp(node: Node) -> Value:
    g, (low, x, high) = node.graph, node.operands
    return g.call("minimum", g.call("maximum", x, low), high)


def convert(node: Node) -> Value:
    g, (x,) = node.graph, node.operands
    return g.call("not_equal", x, g.scalar(0, x)) if node.info.dtype.is_bool else g.cast(x, node.info.dtype)


def reduce_precision(node: Node) -> Value:
    """Rounding to a narrower kind of float, which must be one with a name."""
    g, (x,) = node.graph, node.operands
    bits = (node.attr("exponent_bits", 0), node.attr("mantissa_bits", 0))
    told = [word for word in node.op.words if word.startswith("e")] or [f"e{bits[0]}m{bits[1]}"]
    kinds = {"e5m10": "float16", "e8m7": "bfloat16", "e8m23": "float32", "e11m52": "float64"}
    if told[0] not in kinds:
        node.fail(f"floats of the format {told[0]} are not supported")
    return g.cast(g.cast(x, kinds[told[0]]), x.dtype)


def bitcast_convert(node: Node) -> Value:
    (x,) = node.operands
    if x.dtype.bits != node.info.dtype.bits:
        node.fail(f"the bits of {x.dtype} are read as {node.info.dtype}, of another width")
    return node.graph.call("reinterpret", x, dtype=node.info.dtype)


def constant(node: Node) -> Value:
    given = node.attr("value")
    return node.graph.constant(dense(given, node.info) if isinstance(given, str) else given, node.info.dtype)


def same(node: Node) -> list[Value]:
    """What has no effect on the results."""
    return node.operands


def _cbrt(g: GraphBuilder, x: Value) -> Value:
    return g.call("multiply", g.call("sign", x), g.call("power", g.call("abs", x), g.scalar(1 / 3, x)))


def _away(g: GraphBuilder, x: Value) -> Value:
    """To the nearest integer, halves away from zero: the distance to the number below is exact."""
    whole = g.call("trunc", x)
    is_far = g.call("greater_equal", g.call("abs", g.call("subtract", x, whole)), g.scalar(0.5, x))
    return g.call("where", is_far, g.call("add", whole, g.call("sign", x)), whole)


def _erfc(g: GraphBuilder, x: Value) -> Value:
    return g.call("subtract", g.scalar(1, x), g.call("erf", x))


def _atan2(node: Node) -> Value:
    y, x = node.operands
    return angles.atan2(node.graph, y, x)


_UNARY = {
    "abs": "abs", "ceil": "ceil", "cosine": "cos", "sine": "sin", "tan": "tan", "exponential": "exp", "floor": "floor",
    "is_finite": "isfinite", "log": "log", "logistic": "sigmoid", "negate": "negative", "round_nearest_even": "round",
    "rsqrt": "rsqrt", "sign": "sign", "sqrt": "sqrt", "tanh": "tanh",
}  # fmt: skip
_CHLO = ("erf", "square", "asin", "acos", "atan", "sinh", "cosh", "tan", "asinh", "acosh", "atanh")
_BINARY = {
    "add": "add", "subtract": "subtract", "multiply": "multiply", "maximum": "maximum", "minimum": "minimum",
    "power": "power", "remainder": "trunc_mod", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "shift_right_arithmetic": "right_shift",
}  # fmt: skip

ELEMENTWISE: dict[str, Converter] = {
    **{f"stablehlo.{name}": unary(op) for name, op in _UNARY.items()},
    **{f"chlo.{name}": unary(name) for name in _CHLO},
    **{f"stablehlo.{name}": binary(op) for name, op in _BINARY.items()},
    "chlo.is_inf": unary("isinf"), "chlo.erfc": written(_erfc), "chlo.erf_inv": written(erf_inverse),
    "stablehlo.atan2": _atan2,
    "stablehlo.exponential_minus_one": written(near_zero.expm1), "stablehlo.log_plus_one": written(near_zero.log1p),
    "stablehlo.cbrt": written(_cbrt), "stablehlo.round_nearest_afz": written(_away),
    "stablehlo.divide": divide, "stablehlo.not": logical_not, "stablehlo.compare": compare, "stablehlo.select": select,
    "stablehlo.shift_left": shift_left, "stablehlo.shift_right_logical": shift_right_logical,
    "stablehlo.clamp": clamp, "stablehlo.convert": convert, "stablehlo.bitcast_convert": bitcast_convert,
    "stablehlo.reduce_precision": reduce_precision, "stablehlo.constant": constant,
    "stablehlo.optimization_barrier": same,
}  # fmt: skip
