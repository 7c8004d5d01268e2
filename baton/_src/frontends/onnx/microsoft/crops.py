"""CropAndResize of the domain `com.microsoft`: parts of images, all resized to one size with aligned corners. It
follows onnxruntime's documentation of contributed operators.
"""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import INT64


@dataclass(frozen=True, slots=True)
class Samples:
    """The sample positions of each crop along one axis of its image."""

    at: Value
    """(crops, samples): coordinates, from 0 to `size` - 1 inside the image."""
    size: Dim


def crop_and_resize(node: OnnxNode) -> Value:
    """images (N, C, H, W), crops (R, 4) as (y1, x1, y2, x2) in fractions of the image, the image of each, (height,
    width) -> (R, C, height, width). Samples outside the image are the `extrapolation_value`.
    """
    g, mode, x = node.graph, str(node.attr("mode", "bilinear")), node[0]
    if mode not in ("bilinear", "nearest"):
        node.fail(f"the mode {mode!r} is not defined; bilinear and nearest are")
    if x.shape is None or x.rank != 4 or node[1].rank != 2:
        node.fail(f"it takes images of four axes and crops of two, not {x} and {node[1]}", code="op-shape")
    out = node.sizes(3, "the size of the crops")
    if len(out) != 2:
        node.fail(f"crop_size has {len(out)} numbers", code="op-shape", help="give (height, width)")
    rows, columns = (_samples(node, axis, x.shape[axis + 2], out[axis]) for axis in (0, 1))
    found = (_nearest if mode == "nearest" else _interpolated)(node, _pixels(node, x), rows, columns)
    there = _crossed(node, "logical_and", _inside(node, rows), _inside(node, columns))
    outside = g.scalar(float(node.attr("extrapolation_value", 0.0)), found)
    return g.transpose(g.call("where", g.call("expand_dims", there, axis=(3,)), found, outside), (0, 3, 1, 2))


def _samples(node: OnnxNode, axis: int, size: Dim, count: Dim) -> Samples:
    """Samples from one edge of each crop to the other; a single sample is in the middle."""
    g = node.graph
    low, high = (g.call("take", node[1], g.constant([k], INT64), axis=1) for k in (axis, axis + 2))
    last, steps = (g.cast(g.dims(n - 1), low.dtype) for n in (size, count))
    single = g.call("equal", steps, g.scalar(0, steps))
    middle = g.call("multiply", g.call("add", low, high), g.scalar(0.5, low))
    start, end = (g.call("multiply", g.call("where", single, middle, edge), last) for edge in (low, high))
    extent = g.call("multiply", g.call("subtract", high, low), last)
    step = g.call("divide", extent, g.call("maximum", steps, g.scalar(1, steps)))
    places = g.cast(g.call("arange", start=0, stop=count, step=1, dtype=INT64), low.dtype)
    between = g.call("add", start, g.call("multiply", places, step))
    # The last one is not computed by steps, which might end outside the image.
    return Samples(g.call("where", g.call("equal", places, steps), end, between), size)


def _inside(node: OnnxNode, samples: Samples) -> Value:
    g, at = node.graph, samples.at
    last = g.cast(g.dims(samples.size - 1), at.dtype)
    return g.call("logical_and", g.call("greater_equal", at, g.scalar(0, at)), g.call("less_equal", at, last))


def _crossed(node: OnnxNode, op: str, rows: Value, columns: Value) -> Value:
    """(crops, height, width): the operator applied to each pair of a row's and a column's value."""
    g = node.graph
    return g.call(op, g.call("expand_dims", rows, axis=(2,)), g.call("expand_dims", columns, axis=(1,)))


@dataclass(frozen=True, slots=True)
class _Pixels:
    """Images as a single table of pixels."""

    table: Value
    """(N * H * W, C)"""
    first: Value
    """(crops, 1, 1): the first pixel of each crop's image."""
    width: Dim


def _pixels(node: OnnxNode, x: Value) -> _Pixels:
    g, (images, channels, height, width) = node.graph, x.known_shape()
    # One that is not there fails when it runs.
    there = g.call("arange", start=0, stop=images, step=1, dtype=INT64)
    image = g.call("take", there, node[2], axis=0, mode="fast")
    first = g.reshape(g.call("multiply", image, g.dims(height * width)), (-1, 1, 1))
    return _Pixels(g.reshape(g.transpose(x, (0, 2, 3, 1)), (images * height * width, channels)), first, width)


def _taken(node: OnnxNode, pixels: _Pixels, rows: Value, columns: Value) -> Value:
    """(crops, height, width, C): the pixels at integer coordinates."""
    g = node.graph
    flat = _crossed(node, "add", g.call("multiply", rows, g.dims(pixels.width)), columns)
    return g.call("take", pixels.table, g.call("add", pixels.first, flat), axis=0, mode="fast")


def _whole(node: OnnxNode, places: Value, size: Dim) -> Value:
    """Integer coordinates as indices, clamped to the image."""
    g = node.graph
    last = g.cast(g.dims(size - 1), places.dtype)
    return g.cast(g.call("maximum", g.call("minimum", places, last), g.scalar(0, places)), INT64)


def _nearest(node: OnnxNode, pixels: _Pixels, rows: Samples, columns: Samples) -> Value:
    """The nearest pixel; of two equally near ones, the second."""
    g = node.graph
    row, column = (
        _whole(node, g.call("floor", g.call("add", s.at, g.scalar(0.5, s.at))), s.size) for s in (rows, columns)
    )
    return _taken(node, pixels, row, column)


def _interpolated(node: OnnxNode, pixels: _Pixels, rows: Samples, columns: Samples) -> Value:
    g = node.graph
    total: Value | None = None
    for row, row_share in _neighbours(node, rows):
        for column, column_share in _neighbours(node, columns):
            share = g.call("expand_dims", _crossed(node, "multiply", row_share, column_share), axis=(3,))
            part = g.call("multiply", _taken(node, pixels, row, column), share)
            total = part if total is None else g.call("add", total, part)
    assert total is not None
    return total


def _neighbours(node: OnnxNode, samples: Samples) -> list[tuple[Value, Value]]:
    """The pixels before and after each sample, and their weights."""
    g, at = node.graph, samples.at
    before = g.call("floor", at)
    share = g.call("subtract", at, before)
    behind = g.call("add", before, g.scalar(1, before))
    return [
        (_whole(node, before, samples.size), g.call("subtract", g.scalar(1, share), share)),
        (_whole(node, behind, samples.size), share),
    ]


CONTRIB_CROPS: dict[str, Converter] = {"CropAndResize": crop_and_resize}
