"""Activations and softmaxes; dropout, which does nothing in evaluation mode."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar
from baton._src.frontends.torch.operators.elementwise import clamp
from baton._src.frontends.torch.operators.special import expm1
from baton._src.frontends.torch.sym_floats import divided
from baton._src.values.dtype import FLOAT32


def relu(node: AtenNode, x: Value) -> Value:
    return node.graph.call("nn.relu", x)


def relu6(node: AtenNode, x: Value) -> Value:
    return hardtanh(node, x, 0, 6)


def hardtanh(node: AtenNode, x: Value, low: Scalar, high: Scalar) -> Value:
    return clamp(node, x, low, high)


def leaky_relu(node: AtenNode, x: Value, slope: Scalar) -> Value:
    if isinstance(slope, (int, float)):
        return node.graph.call("nn.leaky_relu", x, alpha=float(slope))
    return prelu(node, x, node.graph.reshape(node.tensor(slope, x.dtype), (1,)))


def prelu(node: AtenNode, x: Value, weight: Value) -> Value:
    """The slope of what is negative belongs to a channel, axis 1."""
    g = node.graph
    shape = (1, -1) + (1,) * (x.rank - 2) if x.rank > 1 else (-1,)
    slope = g.reshape(weight, shape if x.rank else ())
    return g.call("where", g.call("greater", x, g.scalar(0, x)), x, g.call("multiply", x, slope))


def elu(node: AtenNode, x: Value, alpha: Scalar = 1.0, scale: Scalar = 1.0, input_scale: Scalar = 1.0) -> Value:
    """scale * (max(x, 0) + alpha * (exp(input_scale * min(x, 0)) - 1))"""
    g, zero = node.graph, node.graph.scalar(0, x)
    inner = g.call("minimum", x, zero)
    if input_scale != 1:
        inner = g.call("multiply", inner, node.tensor(input_scale, x.dtype))
    negative = g.call("multiply", expm1(node, inner), node.tensor(alpha, x.dtype))
    found = g.call("add", g.call("maximum", x, zero), negative)
    return found if scale == 1 else g.call("multiply", found, node.tensor(scale, x.dtype))


def selu(node: AtenNode, x: Value) -> Value:
    return elu(node, x, 1.6732632423543772, 1.0507009873554805)


def celu(node: AtenNode, x: Value, alpha: Scalar) -> Value:
    return elu(node, x, alpha, 1.0, divided(1.0, alpha))


def gelu(node: AtenNode, x: Value, *, approximate: str) -> Value:
    return node.graph.call("nn.gelu_tanh" if approximate == "tanh" else "nn.gelu", x)


def silu(node: AtenNode, x: Value) -> Value:
    return node.graph.call("multiply", x, node.graph.call("sigmoid", x))


def hardsigmoid(node: AtenNode, x: Value) -> Value:
    """min(max(x + 3, 0), 6) / 6"""
    return node.graph.call("divide", _six_wide(node, x), node.graph.scalar(6, x))


def hardswish(node: AtenNode, x: Value) -> Value:
    """Multiplied before it is divided: numbers beyond a sixth of the greatest are infinite, as in PyTorch."""
    g = node.graph
    return g.call("divide", g.call("multiply", x, _six_wide(node, x)), g.scalar(6, x))


def _six_wide(node: AtenNode, x: Value) -> Value:
    return node.graph.call("clip", node.graph.call("add", x, node.graph.scalar(3, x)), min=0.0, max=6.0)


def softplus(node: AtenNode, x: Value, beta: Scalar = 1, threshold: Scalar = 20) -> Value:
    """log(1 + exp(beta * x)) / beta without overflow; x where beta * x is above the threshold."""
    g = node.graph
    steep = x if beta == 1 else g.call("multiply", x, node.tensor(beta, x.dtype))
    small = g.call("exp", g.call("negative", g.call("abs", steep)))
    half = g.call("atanh", g.call("divide", small, g.call("add", small, g.scalar(2, x))))  # of log(1 + small), exactly
    found = g.call("add", g.call("maximum", steep, g.scalar(0, x)), g.call("add", half, half))
    found = found if beta == 1 else g.call("divide", found, node.tensor(beta, x.dtype))
    return g.call("where", g.call("greater", steep, node.tensor(threshold, x.dtype)), x, found)


def mish(node: AtenNode, x: Value) -> Value:
    return node.graph.call("multiply", x, node.graph.call("tanh", softplus(node, x)))


def log_sigmoid(node: AtenNode, x: Value) -> Value:
    return node.graph.call("negative", softplus(node, node.graph.call("negative", x)))


def softshrink(node: AtenNode, x: Value, lambd: Scalar) -> Value:
    """x moved towards zero by lambd, zero within it."""
    g, reach = node.graph, node.tensor(lambd, x.dtype)
    return g.call("subtract", x, g.call("minimum", g.call("maximum", x, g.call("negative", reach)), reach))


def hardshrink(node: AtenNode, x: Value, lambd: Scalar) -> Value:
    g, reach = node.graph, node.tensor(lambd, x.dtype)
    return g.call("where", g.call("less_equal", g.call("abs", x), reach), g.scalar(0, x), x)  # NaN stays


def threshold(node: AtenNode, x: Value, bound: Scalar, value: Scalar) -> Value:
    g, end, instead = node.graph, node.tensor(bound, x.dtype), node.tensor(value, x.dtype)
    return g.call("where", g.call("less_equal", x, end), instead, x)  # NaN stays


def glu(node: AtenNode, x: Value, dim: int) -> Value:
    g = node.graph
    left, right = g.call_many("split", x, indices_or_sections=2, axis=node.axis(dim, x.rank))
    return g.call("multiply", left, g.call("sigmoid", right))


def softmax(op: str) -> Converter:
    def convert(node: AtenNode, x: Value, dim: int, dtype: Any = None) -> Value:
        g = node.graph
        if dtype is True:  # `half_to_float` of the operators with an underscore
            dtype = FLOAT32
        wide = g.cast(x, node.dtype if dtype is None or dtype is False else dtype)
        if not wide.rank:
            return g.call("subtract", wide, wide) if "log" in op else g.call("exp", g.call("subtract", wide, wide))
        return g.call(op, wide, axis=node.axis(dim, wide.rank))

    return convert


def dropout(node: AtenNode, x: Value, p: float, train: bool | None) -> Value:
    if train and p > 0:
        node.fail("dropout in training mode is random", help="put the module into evaluation mode: model.eval()")
    return x


def native_dropout(node: AtenNode, x: Value, p: float, train: bool | None) -> tuple[Value, Value]:
    """(x, which elements are kept)"""
    g, found = node.graph, dropout(node, x, p, train)
    return found, g.broadcast_to(g.constant(True, "bool"), node.sizes(x))


ACTIVATION: dict[str, Converter] = {
    "aten.relu.default": relu, "aten.relu6.default": relu6, "aten.hardtanh.default": hardtanh,
    "aten.leaky_relu.default": leaky_relu, "aten.prelu.default": prelu, "aten._prelu_kernel.default": prelu,
    "aten.elu.default": elu, "aten.selu.default": selu, "aten.celu.default": celu, "aten.gelu.default": gelu,
    "aten.silu.default": silu, "aten.hardsigmoid.default": hardsigmoid, "aten.hardswish.default": hardswish,
    "aten.softplus.default": softplus, "aten.mish.default": mish, "aten.log_sigmoid.default": log_sigmoid,
    "aten.softshrink.default": softshrink, "aten.hardshrink.default": hardshrink, "aten.threshold.default": threshold,
    "aten.glu.default": glu, "aten.softmax.int": softmax("nn.softmax"), "aten._softmax.default": softmax("nn.softmax"),
    "aten.log_softmax.int": softmax("nn.log_softmax"), "aten._log_softmax.default": softmax("nn.log_softmax"),
    "aten.dropout.default": dropout, "aten.feature_dropout.default": dropout, "aten.alpha_dropout.default": dropout,
    "aten.feature_alpha_dropout.default": dropout, "aten.native_dropout.default": native_dropout,
}  # fmt: skip
