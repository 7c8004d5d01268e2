"""The domain `ai.onnx.preview.training`: one step of an optimizer, for any number of tensors at once.

The operands are the rate R, the number T of steps taken so far, and then all tensors X, all gradients G, and all of
each state that the optimizer keeps; the results are the tensors and states after the step. Source: the definitions of
Adagrad-1, Adam-1 and Momentum-1.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode

Step = Callable[[OnnxNode, Value, Value, list[Value]], list[Value]]
"""(node, R, T, [x, gradient, state, ...]) -> [x, state, ...] after the step."""


def _of_each(kinds: int, step: Step) -> Converter:
    """Apply `step` to each tensor; the operands are the rate, the count, then `kinds` groups of equal length."""

    def convert(node: OnnxNode) -> list[Value]:
        operands = [node[i] for i in range(2, len(node.inputs))]
        if not operands or len(operands) % kinds:
            node.fail(f"{len(operands)} operands do not make up {kinds} groups of equal length")
        count = len(operands) // kinds
        rate, steps = node.graph.reshape(node[0], ()), node.graph.reshape(node[1], ())
        parts = [operands[k::count] for k in range(count)]
        # The rate may be of another float type than the tensors: they are stepped in theirs.
        found = [step(node, node.graph.cast(rate, part[0].dtype), steps, part) for part in parts]
        return [results[state] for state in range(kinds - 1) for results in found]

    return convert


def _sum(node: OnnxNode, x: Value, by_x: float | Value, y: Value, by_y: float | Value = 1.0) -> Value:
    """x * by_x + y * by_y"""
    g = node.graph
    parts = [g.call("multiply", v, b if isinstance(b, Value) else g.scalar(b, v)) for v, b in ((x, by_x), (y, by_y))]
    return g.call("add", *parts)


def _regular(node: OnnxNode, x: Value, gradient: Value) -> Value:
    """The gradient plus that of the regularisation by the norm of x."""
    return _sum(node, x, float(node.attr("norm_coefficient", 0.0)), gradient)


def _adagrad(node: OnnxNode, rate: Value, steps: Value, given: list[Value]) -> list[Value]:
    """Adagrad: the larger the past gradients, the smaller the step."""
    g, (x, gradient, squares) = node.graph, given
    decay = _sum(node, g.cast(steps, rate.dtype), float(node.attr("decay_factor", 0.0)), g.scalar(1.0, rate))
    gradient = _regular(node, x, gradient)
    squares = g.call("add", squares, g.call("multiply", gradient, gradient))
    size = g.call("add", g.call("sqrt", squares), g.scalar(float(node.attr("epsilon", 1e-6)), x))
    step = g.call("divide", g.call("multiply", g.call("divide", rate, decay), gradient), size)
    return [g.call("subtract", x, step), squares]


def _adam(node: OnnxNode, rate: Value, steps: Value, given: list[Value]) -> list[Value]:
    """Adam: the mean of the gradients over the root of that of their squares, each corrected for its start at zero."""
    g, (x, gradient, mean, square) = node.graph, given
    alpha, beta = float(node.attr("alpha", 0.9)), float(node.attr("beta", 0.999))
    gradient = _regular(node, x, gradient)
    mean = _sum(node, mean, alpha, gradient, 1 - alpha)
    square = _sum(node, square, beta, g.call("multiply", gradient, gradient), 1 - beta)
    size = g.call("add", g.call("sqrt", square), g.scalar(float(node.attr("epsilon", 1e-6)), x))
    count, one = g.cast(steps, rate.dtype), g.scalar(1.0, rate)
    missing = [g.call("subtract", one, g.call("power", g.scalar(p, rate), count)) for p in (alpha, beta)]
    adjusted = g.call("divide", g.call("multiply", rate, g.call("sqrt", missing[1])), missing[0])
    adjusted = g.call("where", g.call("greater", steps, g.scalar(0, steps)), adjusted, rate)
    found = g.call("subtract", x, g.call("divide", g.call("multiply", adjusted, mean), size))
    kept = g.scalar(1.0 - float(node.attr("norm_coefficient_post", 0.0)), x)
    return [g.call("multiply", found, kept), mean, square]


def _momentum(node: OnnxNode, rate: Value, steps: Value, given: list[Value]) -> list[Value]:
    """Momentum: each step continues in the direction of the previous ones."""
    g, (x, gradient, speed) = node.graph, given
    alpha, mode = float(node.needed("alpha")), str(node.needed("mode"))
    if mode not in ("standard", "nesterov"):
        node.fail(f"mode must be standard or nesterov, got {mode!r}")
    gradient = _regular(node, x, gradient)
    later = g.call("greater", steps, g.scalar(0, steps))
    share = g.call("where", later, g.scalar(float(node.needed("beta")), x), g.scalar(1.0, x))
    speed = _sum(node, speed, alpha, gradient, share)
    ahead = _sum(node, speed, alpha, gradient) if mode == "nesterov" else speed
    return [g.call("subtract", x, g.call("multiply", rate, ahead)), speed]


OPTIMIZERS: dict[str, Converter] = {
    "Adagrad": _of_each(3, _adagrad), "Adam": _of_each(4, _adam), "Momentum": _of_each(3, _momentum),
}  # fmt: skip
