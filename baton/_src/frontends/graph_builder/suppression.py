"""Non-maximum suppression: the boxes of every image and class that no better one of that class overlaps too much."""

from __future__ import annotations

import math

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.values.dtype import INT64


def chosen_boxes(
    g: GraphBuilder, boxes: Value, scores: Value, limit: Value, overlap_limit: Value, least: Value | None = None
) -> Value:
    """int64 [selected, 3]: (image, class, box), images and classes in order, the best boxes of each first.

    `boxes` (images, boxes, 4): opposite corners; `scores` (images, classes, boxes); the others are scalars. A box is
    dropped unless its score exceeds `least`, if its overlap (intersection over union) with a better one that stays
    exceeds `overlap_limit`, or if `limit` of its class stay already (negative: there is no limit).
    """
    shape = scores.known_shape()
    if 0 in shape:
        return g.constant(np.zeros((0, 3), np.int64))
    if least is None:
        scores, least = _above_infinity(g, scores), g.constant(-np.inf, "float64")
    rows, total = g.call_many("vision.all_class_non_max_suppression", boxes, scores, limit, overlap_limit, least)
    room = math.prod(shape)
    if limit.array is not None and isinstance(room, int):
        most = int(limit.array)
        room = room if most < 0 else shape[0] * shape[1] * min(shape[2], most)
    places = g.call("arange", start=0, stop=room, step=1, dtype=INT64)
    used = g.call("nonzero", g.call("less", places, total))
    return g.call("take", rows, g.call("take", used, g.constant(0, "int64"), axis=0), axis=0, mode="fast")


def _above_infinity(g: GraphBuilder, scores: Value) -> Value:
    """float64 scores in the same order, all of them above minus infinity; NaN counts as the best."""
    wide = g.cast(scores, "float64")
    ends = np.finfo(np.float64)
    finite = g.call("maximum", wide, g.constant(ends.min, "float64"))
    finite = g.call("minimum", finite, g.constant(ends.max, "float64"))
    return g.call("where", g.call("isnan", wide), g.constant(np.inf, "float64"), finite)
