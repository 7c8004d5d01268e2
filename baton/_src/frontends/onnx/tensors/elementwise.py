"""Elementwise operators: one operand or several, broadcast against each other."""

from __future__ import annotations

from functools import reduce

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.narrow import in_float32
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.dtype import FLOAT64


def unary(op: str) -> Converter:
    """The ONNX operator is the operator `op` of the catalogue."""

    def convert(node: OnnxNode) -> Value:
        return node.graph.call(op, node[0])

    return convert


def binary(op: str) -> Converter:
    def convert(node: OnnxNode) -> Value:
        return node.graph.call(op, node[0], node[1])

    return convert


def variadic(op: str) -> Converter:
    """Folded from the left; one operand is itself."""

    def convert(node: OnnxNode) -> Value:
        return reduce(lambda a, b: node.graph.call(op, a, b), node.given)

    return convert


def divide(node: OnnxNode) -> Value:
    """On integers ONNX truncates toward zero; so does `divide` there."""
    if node[0].dtype.is_float:
        return node.graph.call("divide", node[0], node[1])
    return node.graph.call("trunc_divide", node[0], node[1])


def mean(node: OnnxNode) -> Value:
    total = variadic("add")(node)
    assert isinstance(total, Value)
    return node.graph.call("divide", total, node.graph.scalar(len(node.given), total))


def modulo(node: OnnxNode) -> Value:
    """`fmod=1`: the sign of the dividend; otherwise of the divisor."""
    return node.graph.call("mod" if node.attr("fmod", 0) else "floor_mod", node[0], node[1])


def power(node: OnnxNode) -> Value:
    """The result has the dtype of the base."""
    base, exponent = node[0], node[1]
    known = exponent.array if exponent.rank <= base.rank else None
    factors = float(known.reshape(-1)[0]) if known is not None and known.size == 1 else 0.0
    if factors in (2.0, 3.0):
        square = node.graph.call("multiply", base, base)
        return square if factors == 2.0 else node.graph.call("multiply", square, base)
    if base.dtype != exponent.dtype:
        # Integers are raised in the wider of the two types: in a narrower one what the result could hold would wrap.
        # (By floats in float64: float32 would lose digits.)
        if not base.dtype.is_float and (exponent.dtype.is_float or exponent.dtype.bits > base.dtype.bits):
            wider = FLOAT64 if exponent.dtype.is_float else exponent.dtype
            powered = node.graph.call("power", node.graph.cast(base, wider), node.graph.cast(exponent, wider))
            return node.graph.cast(powered, base.dtype)
        exponent = node.graph.cast(exponent, base.dtype)
    return node.graph.call("power", base, exponent)


def clip(node: OnnxNode) -> Value:
    x, graph = node[0], node.graph
    low, high = node.attr("min"), node.attr("max")
    if node.opset < 11:
        info = np.finfo(np.float32)
        return graph.call(
            "clip",
            x,
            min=float(low if low is not None else info.min),
            max=float(high if high is not None else info.max),
        )
    bottom, top = (_limit(node, place) for place in (1, 2))
    if (
        bottom is not None
        and top is not None
        and bottom.array is not None
        and top.array is not None
        and x.dtype.is_float
    ):
        return graph.call("clip", x, min=float(bottom.array.item()), max=float(top.array.item()))
    if bottom is not None:
        x = graph.call("maximum", x, bottom)
    if top is not None:
        x = graph.call("minimum", x, top)
    return x


def _limit(node: OnnxNode, place: int) -> Value | None:
    """The bound that is operand `place`, a scalar (some exporters write it as a vector of one element)."""
    found = node.optional(place)
    if found is None or not found.shape:
        return found
    if len(found.shape) > 1 or (isinstance(found.shape[0], int) and found.shape[0] != 1):
        node.fail(f"input {place} is {found}, it must be a scalar", code="op-shape")
    return node.graph.reshape(node.graph.of_shape(found, (1,)), ())


def leaky_relu(node: OnnxNode) -> Value:
    return node.graph.call("nn.leaky_relu", node[0], alpha=float(node.attr("alpha", 0.01)))


def elu(node: OnnxNode) -> Value:
    return _elu(node, node[0], float(node.attr("alpha", 1.0)))


def _elu(node: OnnxNode, x: Value, alpha: float) -> Value:
    """max(x, 0) + alpha * (exp(min(x, 0)) - 1)"""
    g = node.graph
    zero, one = g.scalar(0, x), g.scalar(1, x)
    negative = g.call("subtract", g.call("exp", g.call("minimum", x, zero)), one)
    return g.call("add", g.call("maximum", x, zero), g.call("multiply", negative, g.scalar(alpha, x)))


def celu(node: OnnxNode) -> Value:
    """max(x, 0) + alpha * (exp(min(x, 0) / alpha) - 1)"""
    g, x, alpha = node.graph, node[0], float(node.attr("alpha", 1.0))
    if alpha == 0:
        node.fail("alpha is 0, by which it divides")
    zero, one = g.scalar(0, x), g.scalar(1, x)
    inner = g.call("exp", g.call("divide", g.call("minimum", x, zero), g.scalar(alpha, x)))
    negative = g.call("multiply", g.call("subtract", inner, one), g.scalar(alpha, x))
    return g.call("add", g.call("maximum", x, zero), negative)


def selu(node: OnnxNode) -> Value:
    alpha = float(node.attr("alpha", 1.6732632423543772))
    gamma = float(node.attr("gamma", 1.0507009873554805))
    return node.graph.call("multiply", _elu(node, node[0], alpha), node.graph.scalar(gamma, node[0]))


def hard_sigmoid(node: OnnxNode) -> Value:
    return _hard_sigmoid(node, float(node.attr("alpha", 0.2)), float(node.attr("beta", 0.5)))


def _hard_sigmoid(node: OnnxNode, alpha: float, beta: float) -> Value:
    g, x = node.graph, node[0]
    line = g.call("add", g.call("multiply", x, g.scalar(alpha, x)), g.scalar(beta, x))
    return g.call("clip", line, min=0.0, max=1.0)


def hard_swish(node: OnnxNode) -> Value:
    return node.graph.call("multiply", node[0], _hard_sigmoid(node, 1 / 6, 0.5))


def swish(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    scaled = g.call("multiply", x, g.scalar(float(node.attr("alpha", 1.0)), x))
    return g.call("multiply", x, g.call("sigmoid", scaled))


def silu_of(node: OnnxNode, x: Value) -> Value:
    """x * sigmoid(x)"""
    return node.graph.call("multiply", x, node.graph.call("sigmoid", x))


def mish(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    return g.call("multiply", x, g.call("tanh", softplus_of(node, x)))


def softplus(node: OnnxNode) -> Value:
    return softplus_of(node, node[0])


def softplus_of(node: OnnxNode, x: Value) -> Value:
    """max(x, 0) + log(1 + exp(-|x|)): does not overflow."""
    g = node.graph
    tail = g.call("exp", g.call("negative", g.call("abs", x)))
    return g.call("add", g.call("maximum", x, g.scalar(0, x)), g.call("log", g.call("add", tail, g.scalar(1, x))))


def softsign(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    return g.call("divide", x, g.call("add", g.call("abs", x), g.scalar(1, x)))


def thresholded_relu(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    above = g.call("greater", x, g.scalar(float(node.attr("alpha", 1.0)), x))
    return g.call("where", above, x, g.scalar(0, x))


def shrink(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    if not x.dtype.is_float:  # neither number need be whole
        node.inputs[0] = g.cast(x, "float64")
        return g.cast(shrink(node), x.dtype)
    bias, lambd = float(node.attr("bias", 0.0)), float(node.attr("lambd", 0.5))
    low = g.call("less", x, g.scalar(-lambd, x))
    high = g.call("greater", x, g.scalar(lambd, x))
    up = g.call("where", high, g.call("subtract", x, g.scalar(bias, x)), g.scalar(0, x))
    return g.call("where", low, g.call("add", x, g.scalar(bias, x)), up)


def gelu(node: OnnxNode) -> Value:
    return node.graph.call("nn.gelu_tanh" if node.attr("approximate", "none") == "tanh" else "nn.gelu", node[0])


def reciprocal(node: OnnxNode) -> Value:
    return node.graph.call("divide", node.graph.scalar(1, node[0]), node[0])


def prelu(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    negative = g.call("multiply", x, node[1])
    return g.call("where", g.call("less", x, g.scalar(0, x)), negative, x)


def bit_shift(node: OnnxNode) -> Value:
    return node.graph.call("left_shift" if node.attr("direction") == "LEFT" else "right_shift", node[0], node[1])


def is_inf(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    found = g.call("isinf", x)
    if not node.attr("detect_positive", 1):
        found = g.call("logical_and", found, g.call("less", x, g.scalar(0, x)))
    if not node.attr("detect_negative", 1):
        found = g.call("logical_and", found, g.call("greater", x, g.scalar(0, x)))
    return found


def identity(node: OnnxNode) -> Value:
    return node[0]


ELEMENTWISE: dict[str, Converter] = {
    **{
        onnx: unary(name)
        for onnx, name in {
            "Abs": "abs", "Acos": "acos", "Acosh": "acosh", "Asin": "asin", "Asinh": "asinh", "Atan": "atan",
            "Atanh": "atanh", "Ceil": "ceil", "Cos": "cos", "Cosh": "cosh", "Erf": "erf", "Exp": "exp",
            "Floor": "floor", "IsNaN": "isnan", "Log": "log", "Neg": "negative", "Not": "logical_not",
            "Relu": "nn.relu", "Round": "round", "Sigmoid": "sigmoid", "Sign": "sign", "Sin": "sin", "Sinh": "sinh",
            "Sqrt": "sqrt", "Tan": "tan", "Tanh": "tanh", "BitwiseNot": "bitwise_not",
        }.items()
    },
    **{
        onnx: binary(name)
        for onnx, name in {
            "Add": "add", "Sub": "subtract", "Mul": "multiply", "Equal": "equal", "Less": "less",
            "LessOrEqual": "less_equal", "Greater": "greater", "GreaterOrEqual": "greater_equal",
            "And": "logical_and", "Or": "logical_or", "Xor": "logical_xor", "BitwiseAnd": "bitwise_and",
            "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
        }.items()
    },
    "Max": variadic("maximum"), "Min": variadic("minimum"), "Sum": variadic("add"), "Mean": in_float32(mean),
    "Div": divide, "Mod": modulo, "Pow": power, "Clip": clip,
    "LeakyRelu": leaky_relu, "Elu": in_float32(elu), "Celu": in_float32(celu), "Selu": in_float32(selu),
    "HardSigmoid": in_float32(hard_sigmoid), "HardSwish": in_float32(hard_swish), "Swish": in_float32(swish),
    "Mish": in_float32(mish), "Softplus": in_float32(softplus), "Softsign": in_float32(softsign),
    "ThresholdedRelu": thresholded_relu, "Shrink": shrink, "Gelu": gelu, "Reciprocal": reciprocal, "PRelu": prelu,
    "BitShift": bit_shift, "IsInf": is_inf, "Identity": identity,
}  # fmt: skip
