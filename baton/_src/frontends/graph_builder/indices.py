"""Indices as models have them: negative ones count from the end."""

from __future__ import annotations

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.tensor_info import Dim


def from_front(g: GraphBuilder, indices: Value, size: Dim) -> Value:
    """Indices into an axis of `size`, counted from its front; constants that need no change stay."""
    if indices.array is not None and (indices.array >= 0).all():
        return indices
    moved = g.call("add", indices, g.dims(size, indices.dtype))
    return g.call("where", g.call("less", indices, g.scalar(0, indices)), moved, indices)
