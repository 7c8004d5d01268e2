"""Operators that ONNX tried out before its opset 10 and took away again. Converters from Core ML wrote them, and
onnxruntime still runs them, whatever the opset."""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.elementwise import softplus_of
from baton._src.frontends.onnx.tensors.parts import slice_


def affine(node: OnnxNode) -> Value:
    """alpha * x + beta"""
    g, scaled = node.graph, _times(node, node[0], float(node.attr("alpha", 1.0)))
    return g.call("add", scaled, g.scalar(float(node.attr("beta", 0.0)), scaled))


def scale(node: OnnxNode) -> Value:
    return _times(node, node[0], float(node.attr("scale", 1.0)))


def scaled_tanh(node: OnnxNode) -> Value:
    """alpha * tanh(beta * x)"""
    inner = _times(node, node[0], float(node.needed("beta")))
    return _times(node, node.graph.call("tanh", inner), float(node.needed("alpha")))


def parametric_softplus(node: OnnxNode) -> Value:
    """alpha * log(exp(beta * x) + 1)"""
    inner = _times(node, node[0], float(node.needed("beta")))
    return _times(node, softplus_of(node, inner), float(node.needed("alpha")))


def image_scaler(node: OnnxNode) -> Value:
    """scale * x + a bias for each channel (axis 1)"""
    g, scaled = node.graph, scale(node)
    return g.call("add", scaled, node.by_channel(scaled, g.constant(list(node.needed("bias")), scaled.dtype)))


def crop(node: OnnxNode) -> Value:
    """(N, C, H, W) without its border (left, top, right, bottom), or from the left and the top on so much of it as
    `scale`, (height, width), says."""
    border, size = node.ints("border") or (), node.ints("scale")
    if node.rank() != 4 or len(border) != 4 or (size is not None and len(size) != 2):
        node.fail(f"it crops images of four axes by a border of four numbers, not {node[0]} by {list(border)}")
    left, top, right, bottom = border
    height, width = node[0].known_shape()[2:]
    ends = (height - bottom, width - right) if size is None else (top + size[0], left + size[1])
    for begin, end, extent in ((top, ends[0], height), (left, ends[1], width)):
        if isinstance(end, int) and isinstance(extent, int) and not 0 <= begin <= end <= extent:
            node.fail(f"from {begin} to {end} is not within the {extent} there are", code="op-shape")
    return node.graph.call("strided_slice", node[0], axes=(2, 3), begin=(top, left), end=ends, strides=(1, 1))


def _times(node: OnnxNode, x: Value, number: float) -> Value:
    return node.graph.call("multiply", x, node.graph.scalar(number, x))


EXPERIMENTAL: dict[str, Converter] = {
    "Affine": affine, "Scale": scale, "ScaledTanh": scaled_tanh, "ParametricSoftplus": parametric_softplus,
    "ImageScaler": image_scaler, "Crop": crop, "DynamicSlice": slice_,
}  # fmt: skip
