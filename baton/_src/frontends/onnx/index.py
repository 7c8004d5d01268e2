"""Gathering, scattering, selecting."""

from __future__ import annotations

from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.value import Value


def _positive(node: OnnxNode, indices: Value, data: Value, axis: int) -> Value:
    """Indices counted from the end made to count from the front; constants that do not need it stay."""
    if indices.array is not None and (indices.array >= 0).all():
        return indices
    dim = None if data.shape is None else data.shape[axis]
    g = node.graph
    if dim is None:
        node.fail("the size of the axis must be known for computed indices", code="onnx-dynamic")
    size = g.dims(dim, indices.dtype)
    return g.call("where", g.call("less", indices, g.scalar(0, indices)), g.call("add", indices, size), indices)


def gather(node: OnnxNode) -> Value:
    axis = node.axis(0)
    return node.graph.call("take", node[0], _positive(node, node[1], node[0], axis), axis=axis)


def gather_elements(node: OnnxNode) -> Value:
    axis = node.axis(0)
    return node.graph.call("gather_elements", node[0], _positive(node, node[1], node[0], axis), axis=axis)


def gather_nd(node: OnnxNode) -> Value:
    return node.graph.call("gather_nd", node[0], node[1], batch_dims=int(node.attr("batch_dims", 0)))


def scatter_elements(node: OnnxNode) -> Value:
    axis = node.axis(0)
    reduction = {"none": "update"}.get(str(node.attr("reduction", "none")), str(node.attr("reduction", "none")))
    indices = _positive(node, node[1], node[0], axis)
    return node.graph.call("scatter_elements", node[0], indices, node[2], axis=axis, reduction=reduction)


def scatter_nd(node: OnnxNode) -> Value:
    reduction = {"none": "update"}.get(str(node.attr("reduction", "none")), str(node.attr("reduction", "none")))
    return node.graph.call("scatter_nd", node[0], node[1], node[2], reduction=reduction)


def where(node: OnnxNode) -> Value:
    return node.graph.call("where", node[0], node[1], node[2])


def one_hot(node: OnnxNode) -> Value:
    g, indices = node.graph, node[0]
    depth_array = node.constant(1, "depth")
    assert depth_array is not None
    depth, values = int(depth_array.reshape(-1)[0]), node[2]
    if not indices.dtype.is_int:
        indices = g.cast(indices, "int64")
    indices = g.call(
        "where",
        g.call("less", indices, g.scalar(0, indices)),
        g.call("add", indices, g.scalar(depth, indices)),
        indices,
    )
    off = g.reshape(g.call("take", values, g.constant(0, "int64"), axis=0), ())
    on = g.reshape(g.call("take", values, g.constant(1, "int64"), axis=0), ())
    return g.call("one_hot", indices, on, off, depth=depth, axis=int(node.attr("axis", -1)))


def non_zero(node: OnnxNode) -> Value:
    return node.graph.cast(node.graph.call("nonzero", node[0]), "int64")


def reverse_sequence(node: OnnxNode) -> Value:
    time, batch = int(node.attr("time_axis", 0)), int(node.attr("batch_axis", 1))
    return node.graph.call("reverse_sequence", node[0], node[1], seq_axis=time, batch_axis=batch)


INDEX: dict[str, Converter] = {
    "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd, "Scatter": scatter_elements,
    "ScatterElements": scatter_elements, "ScatterND": scatter_nd, "Where": where, "OneHot": one_hot,
    "NonZero": non_zero, "ReverseSequence": reverse_sequence,
}  # fmt: skip
