"""Pools, and the normalisations and resizes of images (channels last)."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node, same_scale
from baton._src.frontends.tflite.windows import border
from baton._src.values.dtype import FLOAT32


def _window(node: Node) -> dict[str, Any]:
    kernel = int(node.option("FilterHeight", 1)), int(node.option("FilterWidth", 1))
    strides = int(node.option("StrideH", 1)), int(node.option("StrideW", 1))
    padding = border(node, node.shape()[1:3], kernel, strides, (1, 1))
    return {"pool_size": kernel, "strides": strides, "padding": padding, "layout": "NHWC"}


def _is_plain(node: Node) -> bool:
    """Whether integers are pooled as they are: no activation looks at what they stand for."""
    return node.option("FusedActivationFunction", 0) == 0 and same_scale(
        node.quantised(0), node.results[0].quantisation
    )


def max_pool(node: Node) -> Value:
    if _is_plain(node):
        return node.graph.call("nn.max_pool2d", node[0], **_window(node))
    return node.stored(node.activated(node.graph.call("nn.max_pool2d", node.real(), **_window(node))))


def average_pool(node: Node) -> Value:
    """Means of what lies within the image. Means of integers are rounded, ties away from zero."""
    g = node.graph
    if not node[0].dtype.is_int or not _is_plain(node):
        return node.stored(node.activated(g.call("nn.avg_pool2d", node.real(), **_window(node))))
    mean = g.call("nn.avg_pool2d", g.cast(node[0], FLOAT32), **_window(node))
    size = g.call("floor", g.call("add", g.call("abs", mean), g.scalar(0.5, mean)))
    return g.cast(g.call("multiply", g.call("sign", mean), size), node[0].dtype)


def l2_pool(node: Node) -> Value:
    x = node.real()
    mean = node.graph.call("nn.avg_pool2d", node.graph.call("multiply", x, x), **_window(node))
    return node.stored(node.activated(node.graph.call("sqrt", mean)))


def l2_normalization(node: Node) -> Value:
    """x by the root of the sum of squares over the last axis, which is 1e-6 at least."""
    g, x = node.graph, node.real()
    total = g.call("sum", g.call("multiply", x, x), axis=(-1,), keepdims=True)
    length = g.call("maximum", g.call("sqrt", total), g.scalar(1e-6, x))
    return node.stored(node.activated(g.call("divide", x, length)))


def local_response(node: Node) -> Value:
    """x / (bias + alpha * (sum of squares of 2 * radius + 1 channels)) ** beta"""
    size = 2 * int(node.option("Radius", 0)) + 1
    numbers = {name.lower(): float(node.option(name, 0.0)) for name in ("Bias", "Alpha", "Beta")}
    numbers["alpha"] *= size  # `nn.lrn` takes the mean of the squares
    return node.graph.call("nn.lrn", node.real(), size=size, axis=3, **numbers)


def resize(method: str) -> Converter:
    """Resize to the height and width of operand 1."""

    def convert(node: Node) -> Value:
        corners, half = bool(node.option("AlignCorners", False)), bool(node.option("HalfPixelCenters", False))
        mode = "align_corners" if corners else "half_pixel" if half else "asymmetric"
        rounding = ""
        if method == "nearest_neighbor":
            rounding = "round" if corners else "floor"
            mode = "tf_half_pixel_for_nn" if half and not corners else mode
        size = tuple(node.numbers(1, "the size of the result"))
        is_moved = method == "nearest_neighbor"
        x = node[0] if is_moved else node.real()
        found = node.graph.call(
            "image.resize2d", x, size, layout="NHWC", method=method, rounding_method=rounding,
            coordinate_transformation_mode=mode,
        )  # fmt: skip
        return node.moved(found) if is_moved else node.stored(found)

    return convert


POOLING: dict[str, Converter] = {
    "MAX_POOL_2D": max_pool, "AVERAGE_POOL_2D": average_pool, "L2_POOL_2D": l2_pool,
    "L2_NORMALIZATION": l2_normalization, "LOCAL_RESPONSE_NORMALIZATION": local_response,
    "RESIZE_BILINEAR": resize("linear"), "RESIZE_NEAREST_NEIGHBOR": resize("nearest_neighbor"),
}  # fmt: skip
