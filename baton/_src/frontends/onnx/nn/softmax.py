"""Softmax, its logarithm and its hard form, along an axis."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.frontends.graph_builder.graph import count_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.dtype import INT64


def along_axis(kernel: Callable[[OnnxNode, Value, int], Value]) -> Converter:
    """`kernel(node, x, axis)`, which keeps the shape; before opset 13 the axes from `axis` on count as one."""

    def convert(node: OnnxNode) -> Value:
        g, x = node.graph, node[0]
        if node.opset >= 13:
            return kernel(node, x, node.axis(-1))
        axis, shape = node.axis(1), x.shape
        if axis == node.rank() - 1:
            return kernel(node, x, axis)
        if shape is None:
            node.fail("the shape must be known: several axes count as one", code="onnx-dynamic")
        return g.reshape(kernel(node, g.reshape(x, (*shape[:axis], count_of(shape[axis:]))), axis), shape)

    return convert


def _softmax(node: OnnxNode, x: Value, axis: int) -> Value:
    return node.graph.call("nn.softmax", x, axis=axis)


def _log_softmax(node: OnnxNode, x: Value, axis: int) -> Value:
    return node.graph.call("nn.log_softmax", x, axis=axis)


def _hardmax(node: OnnxNode, x: Value, axis: int) -> Value:
    """1 at the first maximum, 0 elsewhere."""
    g = node.graph
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    if any(isinstance(d, int) and d == 0 for d in x.shape):
        return x
    best = g.cast(g.call("argmax", x, axis=axis, keepdims=True), INT64)
    places = g.call("arange", start=0, stop=x.shape[axis], step=1, dtype=INT64)
    places = g.reshape(places, (x.shape[axis], *[1] * (len(x.shape) - axis - 1)))
    return g.cast(g.call("equal", places, best), x.dtype)


SOFTMAX: dict[str, Converter] = {
    "Softmax": along_axis(_softmax), "LogSoftmax": along_axis(_log_softmax), "Hardmax": along_axis(_hardmax),
}  # fmt: skip
