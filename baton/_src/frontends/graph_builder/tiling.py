"""Repeating a tensor along its axes, as often as is known or a run tells."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.tensor_info import Dim


def tiled(g: GraphBuilder, x: Value, repeats: Sequence[Dim]) -> Value:
    """`x` repeated along each of its axes; its rank must be known where a number of repeats is not."""
    if all(isinstance(r, int) for r in repeats):
        return g.call("tile", x, repeats=tuple(repeats))
    apart: list[Dim] = []
    wide: list[Dim] = []
    shape = x.known_shape()
    for size, count in zip(shape, repeats, strict=True):
        apart += [1, size]
        wide += [count, size]
    whole = [size * count for size, count in zip(shape, repeats, strict=True)]
    return g.reshape(g.broadcast_to(g.reshape(x, apart), wide), whole)
