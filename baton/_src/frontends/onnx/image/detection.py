"""Object detection: non-maximum suppression and region pooling."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from baton._src.frontends.graph_builder.suppression import chosen_boxes
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64


def non_max_suppression(node: OnnxNode) -> Value:
    """int64 [selected, 3]: (image, class, box), best first, of the boxes that overlap no better one too much."""
    g, boxes, scores = node.graph, node[0], node[1]
    shape = scores.shape
    if shape is None:
        node.fail_dynamic("the rank of the scores must be known", scores)
    if len(shape) != 3:
        node.fail(f"the scores must be (images, classes, boxes), they have {len(shape)} axes", code="op-shape")
    most, bound, least = (_number(node, k) for k in (2, 3, 4))
    if most is None or (most.array is not None and most.array <= 0):
        return g.constant(np.zeros((0, 3), np.int64))
    limit = g.call("maximum", g.cast(most, INT64), g.constant(0, "int64"))  # negative: none, not all
    if node.attr("center_point_box", 0):
        boxes = _corners(node, boxes)
    return chosen_boxes(g, boxes, scores, limit, bound or g.scalar(0, scores), least)


def _number(node: OnnxNode, position: int) -> Value | None:
    """An optional operand of one element as a scalar."""
    given = node.optional(position)
    return None if given is None else node.graph.reshape(given, ())


def _corners(node: OnnxNode, boxes: Value) -> Value:
    """(top, left, bottom, right) of boxes that are (x, y, width, height), x and y of their middles."""
    g = node.graph
    middle, extent = (g.call("take", boxes, g.constant(pair, "int64"), axis=2) for pair in ([1, 0], [3, 2]))
    half = g.call("multiply", extent, g.scalar(0.5, boxes))
    return g.call("concat", (g.call("subtract", middle, half), g.call("add", middle, half)), axis=2)


def roi_align(node: OnnxNode) -> Value:
    """[regions, channels, height, width]: means (or maxima) of bilinear samples, a grid of them for each bin."""
    g, x, rois = node.graph, node[0], node[1]
    if rois.shape is not None and (rois.rank != 2 or (isinstance(rois.shape[1], int) and rois.shape[1] != 4)):
        node.fail(f"the regions must be rows of (x1, y1, x2, y2), they are {rois}", code="op-shape")
    ratio, height, width = (int(node.attr(n, d)) for n, d in _ROI_SIZES)
    mode = str(node.attr("mode", "avg"))
    if mode == "avg":
        return g.call(
            "vision.roi_align", x, _with_images(node, rois), pooled_size=(height, width), sample_ratio=ratio,
            spatial_scale=float(node.attr("spatial_scale", 1.0)), aligned=_is_aligned(node),
        )  # fmt: skip
    if mode != "max":
        node.fail(f"mode must be avg or max, got {mode!r}")
    if ratio <= 0:
        node.fail("maxima need a sampling_ratio: without one the number of samples depends on the regions")
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    rows = _sample_places(node, rois, (1, 3), height * ratio)
    columns = _sample_places(node, rois, (0, 2), width * ratio)
    sampled = _greatest_shares(node, x, rows, columns)
    parts = g.reshape(sampled, (sampled.known_shape()[0], height, ratio, width, ratio, x.shape[1]))
    return g.transpose(g.call("max", parts, axis=(2, 4), keepdims=False), (0, 3, 1, 2))


def _with_images(node: OnnxNode, rois: Value) -> Value:
    """[regions, 5]: the number of each region's image before its corners."""
    g = node.graph
    return g.call("concat", (g.cast(g.reshape(_image_numbers(node), (-1, 1)), rois.dtype), rois), axis=1)


def _image_numbers(node: OnnxNode) -> Value:
    """[regions]: the number of each region's image; one that is not there is an error."""
    g, images = node.graph, node[0].shape
    if images is None:
        node.fail("the rank of the images must be known", code="onnx-dynamic")
    there = g.call("arange", start=0, stop=images[0], step=1, dtype=INT64)
    return g.call("take", there, node[2], axis=0, mode="fast")


def _is_aligned(node: OnnxNode) -> bool:
    """Whether pixels are centred at halves, as they are since opset 16."""
    return str(node.attr("coordinate_transformation_mode", "half_pixel")) == "half_pixel" and node.opset >= 16


def max_roi_pool(node: OnnxNode) -> Value:
    """[regions, channels, rows, columns]: the greatest pixel of each bin. A region names its image first."""
    size = tuple(int(d) for d in node.needed("pooled_shape"))
    scale = float(node.attr("spatial_scale", 1.0))
    return node.graph.call("vision.roi_pool", node[0], node[1], pooled_size=size, spatial_scale=scale)


_ROI_SIZES = (("sampling_ratio", 0), ("output_height", 1), ("output_width", 1))


def _sample_places(node: OnnxNode, rois: Value, ends: tuple[int, int], count: int) -> Value:
    """[regions, count]: where along one axis each region is sampled, in pixels."""
    g, scale = node.graph, float(node.attr("spatial_scale", 1.0))
    half = _is_aligned(node)
    low, high = (
        g.call("subtract", g.call("multiply", e, g.scalar(scale, e)), g.scalar(0.5 if half else 0.0, e))
        for e in (g.call("take", rois, g.constant([i], "int64"), axis=1) for i in ends)
    )
    length = g.call("subtract", high, low)
    if not half:
        length = g.call("maximum", length, g.scalar(1, length))
    steps = g.constant((np.arange(count) + 0.5).reshape(1, -1) / count, rois.dtype)
    return g.call("add", low, g.call("multiply", length, steps))


def _greatest_shares(node: OnnxNode, images: Value, rows: Value, columns: Value) -> Value:
    """[regions, rows, columns, channels]: samples at every crossing; zero beyond a pixel outside the image.

    Of the four pixels around a place that are weighed to interpolate it, the greatest share: what ONNX takes the
    maxima of.
    """
    g, shape = node.graph, images.shape
    assert shape is not None
    _, channels, height, width = shape
    pixels = g.reshape(g.transpose(images, (0, 2, 3, 1)), (-1, channels))
    first_row = g.call("multiply", g.reshape(_image_numbers(node), (-1, 1, 1)), g.dims(height))
    found: Value | None = None
    for row, by_row in _ends(node, rows, height, 2):
        line = g.call("multiply", g.call("add", first_row, row), g.dims(width))
        for column, by_column in _ends(node, columns, width, 1):
            pixel = g.call("take", pixels, g.call("add", line, column), axis=0, mode="fast")
            weight = g.call("expand_dims", g.call("multiply", by_row, by_column), axis=(3,))
            # Nothing of what is outside, rather than 0 times it, which may be NaN.
            nothing = g.scalar(0, pixel)
            share = g.call("multiply", pixel, g.cast(weight, pixel.dtype))
            share = g.call("where", g.call("equal", weight, g.scalar(0, weight)), nothing, share)
            found = share if found is None else g.call("maximum", found, share)
    assert found is not None
    return found


def _ends(node: OnnxNode, places: Value, size: Dim, axis: int) -> Iterator[tuple[Value, Value]]:
    """The pixel before each sample along an axis and the one behind it, with how much it counts: [regions, samples],
    with an axis for the other samples."""
    g = node.graph
    zero, one, end = g.scalar(0, places), g.scalar(1, places), g.cast(g.dims(size), places.dtype)
    from_front = g.call("greater_equal", places, g.scalar(-1, places))
    inside = g.cast(g.call("logical_and", from_front, g.call("less_equal", places, end)), places.dtype)
    last = g.call("subtract", g.dims(size), g.constant(1, INT64))
    at = g.call("minimum", g.call("maximum", places, zero), g.call("subtract", end, one))
    before = g.call("floor", at)
    behind = g.call("subtract", at, before)
    for step, share in ((0, g.call("subtract", one, behind)), (1, behind)):
        pixel = g.call("add", g.cast(before, INT64), g.constant(step, INT64))
        pixel = g.call("maximum", g.call("minimum", pixel, last), g.constant(0, INT64))  # of a region that is NaN, too
        weight = g.call("multiply", share, inside)
        yield g.call("expand_dims", pixel, axis=(axis,)), g.call("expand_dims", weight, axis=(axis,))


DETECTION: dict[str, Converter] = {
    "NonMaxSuppression": non_max_suppression, "RoiAlign": roi_align, "MaxRoiPool": max_roi_pool,
}  # fmt: skip
