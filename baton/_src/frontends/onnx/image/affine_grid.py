"""AffineGrid: where an affine map of each image reads its pixels, for GridSample. (ONNX's own body of the operator
squeezes the axis of the batch away where it holds one image, and divides by zero along axes of one pixel.)
"""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.narrow import in_float32
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64


def affine_grid(node: OnnxNode) -> Value:
    """theta (images, axes, axes + 1) -> (images, depth?, height, width, axes): places as (x, y, z?), the images' ends
    being at -1 and 1."""
    g, theta = node.graph, node[0]
    images, _, *sizes = node.sizes(1, "the size")
    axes = len(sizes)
    theta = g.of_shape(theta, (images, axes, axes + 1))
    total = _column(node, theta, axes, axes)
    for place, size in enumerate(reversed(sizes)):
        along = g.reshape(_places(node, size), (*(1,) * (axes - 1 - place), size, *(1,) * (place + 1)))
        total = g.call("add", total, g.call("multiply", _column(node, theta, place, axes), along))
    return total


def _column(node: OnnxNode, theta: Value, place: int, axes: int) -> Value:
    """What each image's map adds to a place per unit of one axis; (images, 1..., axes)"""
    g = node.graph
    column = g.call("take", theta, g.constant(place, INT64), axis=2)
    return g.reshape(column, (column.known_shape()[0], *(1,) * axes, axes))


def _places(node: OnnxNode, size: Dim) -> Value:
    """Where the pixels of an axis lie: from -1 to 1, or so that their outer edges do. A lone pixel lies at -1, or 0."""
    g, theta = node.graph, node[0]
    number = g.cast(g.call("arange", start=0, stop=size, step=1, dtype=INT64), theta.dtype)
    count, one, two = g.cast(g.dims(size), theta.dtype), g.scalar(1, theta), g.scalar(2, theta)
    if node.attr("align_corners", 0):
        steps = g.call("maximum", g.call("subtract", count, one), one)
        return g.call("subtract", g.call("divide", g.call("multiply", number, two), steps), one)
    middle = g.call("add", g.call("multiply", number, two), one)
    return g.call("subtract", g.call("divide", middle, count), one)


AFFINE_GRID: dict[str, Converter] = {"AffineGrid": in_float32(affine_grid)}
