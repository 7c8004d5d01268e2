"""Arithmetic, comparisons and activations, element by element.

Quantised operands are computed as the real numbers they stand for, and rounded once, where the result is stored.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from baton._src.frontends.graph_builder.angles import atan2
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node, activation
from baton._src.values.dtype import BOOL, FLOAT32


def unary(op: str) -> Converter:
    """The operator `op` of the catalogue."""
    return lambda node: node.stored(node.graph.call(op, node.real()))


def binary(op: str) -> Converter:
    """An operator of two, and the activation fused into it."""
    return lambda node: node.stored(node.activated(node.graph.call(op, node.real(0), node.real(1))))


def comparison(op: str) -> Converter:
    """Equal integers of two scales are not equal numbers."""
    return lambda node: node.graph.call(op, node.real(0), node.real(1))


def named_activation(name: str) -> Converter:
    """An activation that is an operator of its own."""
    return lambda node: node.stored(activation(node, name, node.real()))


def divide(node: Node) -> Value:
    """Integers are divided towards zero."""
    op = "trunc_divide" if node.real(0).dtype.is_int else "divide"
    return node.stored(node.activated(node.graph.call(op, node.real(0), node.real(1))))


def squared_difference(node: Node) -> Value:
    difference = node.graph.call("subtract", node.real(0), node.real(1))
    return node.stored(node.graph.call("multiply", difference, difference))


def add_all(node: Node) -> Value:
    values = [node.real(place) for place in range(len(node.operands))]
    return node.stored(reduce(lambda a, b: node.graph.call("add", a, b), values))


def elu(node: Node) -> Value:
    """x, and exp(x) - 1 where x is negative."""
    g, x = node.graph, node.real()
    low = g.call("subtract", g.call("exp", g.call("minimum", x, g.scalar(0.0, x))), g.scalar(1.0, x))
    return node.stored(g.call("where", g.call("greater", x, g.scalar(0.0, x)), x, low))


def hard_swish(node: Node) -> Value:
    """x * relu6(x + 3) / 6"""
    g, x = node.graph, node.real()
    gate = g.call("clip", g.call("add", x, g.scalar(3.0, x)), min=0.0, max=6.0)
    return node.stored(g.call("multiply", g.call("multiply", x, gate), g.scalar(1 / 6, x)))


def gelu(node: Node) -> Value:
    op = "nn.gelu_tanh" if node.option("Approximate", False) else "nn.gelu"
    return node.stored(node.graph.call(op, node.real()))


def leaky_relu(node: Node) -> Value:
    g, x = node.graph, node.real()
    scaled = g.call("multiply", x, g.scalar(float(node.option("Alpha", 0.0)), x))
    return node.stored(g.call("where", g.call("greater", x, g.scalar(0.0, x)), x, scaled))


def prelu(node: Node) -> Value:
    g, x = node.graph, node.real()
    scaled = g.call("multiply", x, node.real(1))
    return node.stored(g.call("where", g.call("greater", x, g.scalar(0.0, x)), x, scaled))


def softmax(node: Node) -> Value:
    """softmax(beta * x) over the last axis"""
    g, x, beta = node.graph, node.real(), float(node.option("Beta", 1.0))
    scaled = x if beta == 1.0 else g.call("multiply", x, g.scalar(beta, x))
    return node.stored(g.call("nn.softmax", scaled, axis=-1))


def log_softmax(node: Node) -> Value:
    return node.stored(node.graph.call("nn.log_softmax", node.real(), axis=-1))


def cast(node: Node) -> Value:
    """Numbers are converted as in C; integers that stand for real numbers count as the integers they are."""
    to = node.results[0].dtype
    if to == BOOL:
        return node.graph.call("not_equal", node[0], node.graph.constant(0, node[0].dtype))
    return node.graph.cast(node[0], to)


def quantize(node: Node) -> Value:
    return node.stored(node.real())


def dequantize(node: Node) -> Value:
    return node.graph.cast(node.real(), FLOAT32)


def fake_quant(node: Node) -> Value:
    """Round to the numbers that `NumBits` bits can hold between Min and Max, of which 0 is one."""
    g, x = node.graph, node.real()
    low, high = float(node.option("Min", 0.0)), float(node.option("Max", 0.0))
    first = 1 if node.option("NarrowRange", False) else 0
    last = 2 ** int(node.option("NumBits", 8)) - 1
    if not low < high:
        node.fail(f"its range is from {low} to {high}")
    scale = (high - low) / (last - first)
    zero = int(np.clip(np.round(first - low / scale), first, last))
    bounds = {"min": (first - zero) * scale, "max": (last - zero) * scale}
    above = g.call("subtract", g.call("clip", x, **bounds), g.scalar(bounds["min"], x))
    steps = g.call("divide", above, g.scalar(scale, x))
    whole = g.call("floor", g.call("add", steps, g.scalar(0.5, x)))
    return g.call("add", g.call("multiply", whole, g.scalar(scale, x)), g.scalar(bounds["min"], x))


def select(node: Node) -> Value:
    """`SELECT` takes whole rows where the condition is a vector and the operands are not."""
    g, condition = node.graph, node[0]
    x, y = node.real(1), node.real(2)
    if node.op.name == "SELECT" and condition.rank == 1 and x.rank > 1:
        condition = g.reshape(condition, (*node.shape(0), *(1,) * (x.rank - 1)))
    return node.stored(g.call("where", condition, x, y))


def bitcast(node: Node) -> Value:
    to = node.results[0].dtype
    if to.bits != node[0].dtype.bits:
        node.fail(f"its operand of {node[0].dtype} has elements of another size than its result of {to}")
    return node.graph.call("reinterpret", node[0], dtype=to)


def angle(node: Node) -> Value:
    """The angles of the points (x, y), from -pi to pi; operands are y and x."""
    return node.stored(atan2(node.graph, node.real(0), node.real(1)))


def zeros_like(node: Node) -> Value:
    return node.graph.broadcast_to(node.graph.constant(0, node.results[0].dtype), node.shape())


ELEMENTWISE: dict[str, Converter] = {
    **{name: unary(op) for name, op in {
        "ABS": "abs", "CEIL": "ceil", "COS": "cos", "EXP": "exp", "FLOOR": "floor", "LOG": "log", "LOGICAL_NOT":
        "logical_not", "LOGISTIC": "sigmoid", "NEG": "negative", "ROUND": "round", "RSQRT": "rsqrt", "SIGN": "sign",
        "SIN": "sin", "SQRT": "sqrt", "SQUARE": "square", "TANH": "tanh",
    }.items()},
    **{name: binary(op) for name, op in {
        "ADD": "add", "SUB": "subtract", "MUL": "multiply", "POW": "power", "MAXIMUM": "maximum", "MINIMUM": "minimum",
        "FLOOR_DIV": "floor_divide", "FLOOR_MOD": "floor_mod", "LOGICAL_AND": "logical_and", "LOGICAL_OR": "logical_or",
        "BITWISE_XOR": "bitwise_xor", "RIGHT_SHIFT": "right_shift",
    }.items()},
    **{name: comparison(op) for name, op in {
        "EQUAL": "equal", "NOT_EQUAL": "not_equal", "LESS": "less", "LESS_EQUAL": "less_equal", "GREATER": "greater",
        "GREATER_EQUAL": "greater_equal",
    }.items()},
    **{name: named_activation(name) for name in ("RELU", "RELU_N1_TO_1", "RELU6", "RELU_0_TO_1")},
    "DIV": divide, "SQUARED_DIFFERENCE": squared_difference, "ADD_N": add_all, "ELU": elu, "HARD_SWISH": hard_swish,
    "GELU": gelu, "LEAKY_RELU": leaky_relu, "PRELU": prelu, "SOFTMAX": softmax, "LOG_SOFTMAX": log_softmax,
    "CAST": cast, "QUANTIZE": quantize, "DEQUANTIZE": dequantize, "FAKE_QUANT": fake_quant,
    "SELECT": select, "SELECT_V2": select, "BITCAST": bitcast, "ATAN2": angle, "ZEROS_LIKE": zeros_like,
}  # fmt: skip
