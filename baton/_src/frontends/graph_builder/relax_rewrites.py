"""Express neutral operators that Relax lacks by its own."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value


def _bias_add(g: GraphBuilder, x: Value, bias: Value, axis: int = 1) -> Value:
    """Broadcasting lines up the last axes: the vector gets an axis of size 1 for each behind its own."""
    behind = x.rank - 1 - axis if axis >= 0 else -1 - axis
    if behind:
        bias = g.reshape(bias, (1,) * (axis % x.rank) + (bias.shape[0] if bias.shape else -1,) + (1,) * behind)
    return g.call("add", x, bias)


REWRITES: dict[str, Callable[..., Value]] = {"nn.bias_add": _bias_add}
