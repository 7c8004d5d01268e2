"""Choosing boxes: non-maximum suppression, and what detectors do with their anchors."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node
from baton._src.values.dtype import FLOAT32, INT32, INT64


def suppression(node: Node) -> list[Value]:
    """Operands: boxes, scores, how many, the overlap and score limits (and a sigma for soft suppression). Results: the
    chosen boxes, 0 behind them, (their scores,) and how many were chosen.
    """
    g = node.graph
    (count,) = node.constants(2, "the number of boxes")
    if node.op.name.endswith("V5") and (node[5].array is None or node[5].array.any()):
        node.fail("soft suppression, with a sigma that is not 0, is not supported")
    places, kept, total = _chosen(node, node[0], node[1], count, g.reshape(node[3], ()), g.reshape(node[4], ()))
    chosen = g.cast(g.call("where", kept, places, g.constant(0, INT64)), INT32)
    if node.op.name.endswith("V4"):
        return [chosen, total]
    scores = g.call("where", kept, g.call("take", node[1], places, axis=0, mode="clip"), g.scalar(0.0, node[1]))
    return [chosen, scores, total]


def _chosen(
    node: Node, boxes: Value, scores: Value, count: int, overlap: Value, least: Value
) -> tuple[Value, Value, Value]:
    """`count` places of boxes of one class, best first; which of them count; how many do."""
    g = node.graph
    limit = g.constant(count, INT64)
    rows, total = g.call_many(
        "vision.all_class_non_max_suppression", g.reshape(boxes, (1, *boxes.known_shape())),
        g.reshape(scores, (1, 1, *scores.known_shape())), limit, overlap, least,
    )  # fmt: skip
    room = scores.known_shape()[0]
    if not isinstance(room, int):
        node.fail("the number of boxes must be known")
    found = g.call("strided_slice", rows, axes=(0, 1), begin=(0, 2), end=(min(count, room), 3), strides=(1, 1))
    places = g.reshape(found, (min(count, room),))
    if room < count:
        places = g.call("nn.pad", places, pad_width=(0, count - room), pad_value=0, pad_mode="constant")
    total = g.cast(g.reshape(total, ()), INT32)
    return places, g.call("less", g.constant(np.arange(count, dtype=np.int32)), total), total


def detections(node: Node) -> list[Value]:
    """TFLite_Detection_PostProcess: boxes relative to anchors, scores of classes (the first is background), anchors.

    Results: `max_detections` boxes (y0, x0, y1, x1), their classes and scores, 0 where there are fewer, and how many.
    Each box counts for its best class.
    """
    g, options = node.graph, _options(node)
    if options.get("use_regular_nms", False):
        node.fail("suppression by class (`use_regular_nms`) is not supported")
    if int(options.get("max_classes_per_detection", 1)) != 1:
        node.fail("several classes for a box are not supported")
    count, classes = int(options["max_detections"]), int(options["num_classes"])
    if node.shape()[0] != 1:
        node.fail("only batches of one image are supported")
    boxes = _placed(node, options)
    scores = g.reshape(node.real(1), node.shape(1)[1:])
    background = node.shape(1)[2] - classes
    scores = g.call("strided_slice", scores, axes=(1,), begin=(background,), end=(background + classes,), strides=(1,))
    best = g.call("max", scores, axis=(1,))
    limits = (g.constant(float(options[f"nms_{name}_threshold"]), FLOAT32) for name in ("iou", "score"))
    places, kept, total = _chosen(node, boxes, best, count, *limits)

    def of(values: Value) -> Value:
        taken = g.call("take", values, places, axis=0, mode="clip")
        shown = kept if taken.rank == 1 else g.reshape(kept, (count, 1))
        result = g.call("where", shown, taken, g.constant(0.0, FLOAT32))
        return g.reshape(result, (1, *result.known_shape()))

    chosen = g.cast(g.call("argmax", scores, axis=1), FLOAT32)
    return [of(boxes), of(chosen), of(best), g.reshape(g.cast(total, FLOAT32), (1,))]


def _placed(node: Node, options: dict[str, Any]) -> Value:
    """The corners of boxes, (y0, x0, y1, x1), from centres and sizes relative to those of the anchors."""
    g = node.graph
    encoded, anchors = g.reshape(node.real(0), (-1, 4)), node.real(2)

    def column(x: Value, place: int) -> Value:
        return g.call("strided_slice", x, axes=(1,), begin=(place,), end=(place + 1,), strides=(1,))

    corners: list[list[Value]] = [[], []]
    for place, (scale, size) in enumerate((("y_scale", "h_scale"), ("x_scale", "w_scale"))):
        middle, length = column(anchors, place), column(anchors, place + 2)
        moved = g.call("divide", column(encoded, place), g.constant(float(options[scale]), FLOAT32))
        grown = g.call("divide", column(encoded, place + 2), g.constant(float(options[size]), FLOAT32))
        centre = g.call("add", g.call("multiply", moved, length), middle)
        half = g.call("multiply", g.call("multiply", g.call("exp", grown), length), g.constant(0.5, FLOAT32))
        corners[0].append(g.call("subtract", centre, half))
        corners[1].append(g.call("add", centre, half))
    return g.call("concat", (*corners[0], *corners[1]), axis=1)


def _options(node: Node) -> dict[str, Any]:
    """The options of a custom operator, a map in the format FlexBuffers."""
    flexbuffers = importlib.import_module("flatbuffers.flexbuffers")  # comes with the package `tflite`
    found = flexbuffers.Loads(node.op.custom) if node.op.custom else None
    if not isinstance(found, dict):
        node.fail("its options cannot be read")
    return found


DETECTION: dict[str, Converter] = {
    "NON_MAX_SUPPRESSION_V4": suppression, "NON_MAX_SUPPRESSION_V5": suppression,
    "TFLite_Detection_PostProcess": detections,
}  # fmt: skip
