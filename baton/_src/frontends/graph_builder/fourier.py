"""Fourier transforms along any axis, for importers: the operator `fourier` has the last one, and the one before."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value


def fourier(g: GraphBuilder, parts: Sequence[Value], axis: int, **wanted: Any) -> Sequence[Value]:
    """The parts of the transform of every line along `axis`; `wanted` are the operator's attributes.

    The axes after it are columns where their sizes are known, else it is moved to the end.
    """
    shape, rank = parts[0].shape, parts[0].rank
    after = shape[axis + 1 :] if shape is not None else ()
    if axis == rank - 1:
        return g.call_many("fourier", tuple(parts), **wanted)
    if shape is not None and not wanted.get("to_real") and all(isinstance(d, int) and d for d in after):
        columns = [g.reshape(p, (*shape[: axis + 1], prod(after))) for p in parts]
        found = g.call_many("fourier", tuple(columns), columns=True, **wanted)
        kept = wanted.get("kept") or wanted["length"]
        return [g.reshape(f, (*shape[:axis], kept, *after)) for f in found]
    order = [a for a in range(rank) if a != axis] + [axis]
    found = g.call_many("fourier", tuple(g.transpose(p, order) for p in parts), **wanted)
    return [g.transpose(f, [order.index(a) for a in range(rank)]) for f in found]
