"""Non-maximum suppression as a loop over sorted boxes: a box is kept if no better kept box overlaps it too much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.dtype import BOOL, INT64


def greedy_choice(
    g: GraphBuilder, corners: Sequence[Value], alive: Value, overlap_limit: Value, limit: Value | None = None
) -> Value:
    """bool [images, classes, boxes]: which of the `alive` boxes, sorted best first along the last axis, are kept.

    `corners`: top, left, bottom, right, of the same shape. Boxes are dropped whose overlap (intersection over union)
    with a better one exceeds `overlap_limit`; at most `limit` are kept per image and class. The state of the loop is
    (go on?, i, alive, kept).
    """
    shape = alive.known_shape()
    if 0 in shape:
        return alive  # there is nothing to choose from
    area = _area(g, *corners)
    count = g.dims(shape[2])
    places = g.reshape(g.call("arange", start=0, stop=shape[2], step=1, dtype=INT64), (1, 1, shape[2]))

    def pick(x: Value, i: Value) -> Value:
        return g.call("take", x, g.reshape(i, (1,)), axis=2)

    def may_stay(living: Value, kept: Value, i: Value) -> Value:
        if limit is None:
            return pick(living, i)
        taken = g.call("sum", g.cast(kept, INT64), axis=(2,), keepdims=True)
        return g.call("logical_and", pick(living, i), g.call("less", taken, limit))

    def step(state: list[Value]) -> list[Value]:
        _, i, living, kept = state
        chosen = may_stay(living, kept, i)
        common = _common_area(g, corners, [pick(c, i) for c in corners])
        union = g.call("subtract", g.call("add", area, pick(area, i)), common)
        # common / union > limit, without dividing by the area of an empty box.
        near = g.call("greater", common, g.call("multiply", union, overlap_limit))
        dropped = g.call("logical_and", g.call("logical_and", near, chosen), g.call("greater", places, i))
        here = g.call("logical_and", g.call("equal", places, i), chosen)
        following = g.call("add", i, g.constant(np.int64(1)))
        more = g.call("less", following, count)
        return [more, following, g.call("logical_and", living, g.call("logical_not", dropped)),
                g.call("logical_or", kept, here)]  # fmt: skip

    first = g.constant(np.int64(0))
    start = [g.call("less", first, count), first, alive, g.broadcast_to(g.constant(np.array(False)), shape)]
    infos = [TensorInfo((), BOOL), first.info, TensorInfo(shape, BOOL), TensorInfo(shape, BOOL)]
    return g.loop(start, infos, step)[3]


def _area(g: GraphBuilder, top: Value, left: Value, bottom: Value, right: Value) -> Value:
    return g.call("multiply", g.call("subtract", bottom, top), g.call("subtract", right, left))


def _common_area(g: GraphBuilder, one: Sequence[Value], other: Sequence[Value]) -> Value:
    """Of two boxes, 0 where they do not touch."""
    lows = [g.call("maximum", one[n], other[n]) for n in (0, 1)]
    highs = [g.call("minimum", one[n], other[n]) for n in (2, 3)]
    sides = [g.call("subtract", high, low) for low, high in zip(lows, highs, strict=True)]
    zero = g.scalar(0, sides[0])
    return g.call("multiply", *(g.call("maximum", side, zero) for side in sides))
