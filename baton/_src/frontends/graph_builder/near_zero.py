"""exp(x) - 1 and log(1 + x), which lose nothing near zero."""

from __future__ import annotations

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value


def expm1(g: GraphBuilder, x: Value) -> Value:
    """exp(x) - 1 as tanh(x / 2) * (exp(x) + 1)."""
    half = g.call("tanh", g.call("multiply", x, g.scalar(0.5, x)))
    return g.call("multiply", half, g.call("add", g.call("exp", x), g.scalar(1, x)))


def log1p(g: GraphBuilder, x: Value) -> Value:
    """2 * atanh(x / (2 + x)); log(1 + x) elsewhere."""
    near = g.call("less", g.call("abs", x), g.scalar(0.5, x))
    small = g.call("where", near, x, g.scalar(0, x))
    inner = g.call("atanh", g.call("divide", small, g.call("add", small, g.scalar(2, x))))
    far = g.call("log", g.call("add", x, g.scalar(1, x)))
    return g.call("where", near, g.call("add", inner, inner), far)
