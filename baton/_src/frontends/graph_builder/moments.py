"""Mean and variance, as normalisations of both importers need them."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value


def moments(g: GraphBuilder, x: Value, axes: Sequence[int]) -> tuple[Value, Value, Value]:
    """(x - mean, mean, variance) over axes, which stay as dims of 1."""
    mean = g.call("mean", x, axis=axes, keepdims=True)
    centred = g.call("subtract", x, mean)
    return centred, mean, g.call("mean", g.call("multiply", centred, centred), axis=axes, keepdims=True)
