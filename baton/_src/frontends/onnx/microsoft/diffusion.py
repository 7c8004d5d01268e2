"""Operators of the domain `com.microsoft` that onnxruntime's optimizer writes for diffusion models: images with
channels last, and the additions around normalisations. Each follows onnxruntime's documentation of contributed
operators; the layout of NhwcConv's weights is the one its optimizer writes.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.fused import activated, derived
from baton._src.frontends.onnx.nn.convolution import conv
from baton._src.frontends.onnx.nn.normalization import group_normalization
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.elementwise import gelu, silu_of
from baton._src.values.dtype import FLOAT32


def group_norm(node: OnnxNode) -> Value:
    """image, scale, bias: normalised by groups of channels in float32; channels are last unless `channels_last` is 0"""
    return _grouped(node, node[0])


def skip_group_norm(node: OnnxNode) -> list[Value]:
    """image, scale, bias, skip, channels to be added -> their sum, normalised; the sum"""
    g, x, skip, added = node.graph, node[0], node[3], node.optional(4)
    last = bool(node.attr("channels_last", 1))
    if skip.rank == 2:
        skip = g.call("expand_dims", skip, axis=(1, 2) if last else (2, 3))
    total = g.call("add", x, skip)
    if added is not None:
        total = g.call("add", total, added if last else node.by_channel(total, added))
    return [_grouped(node, total), total]


def _grouped(node: OnnxNode, x: Value) -> Value:
    g, last = node.graph, bool(node.attr("channels_last", 1))
    wide = g.cast(x, FLOAT32)
    if x.rank != 4:
        node.fail(f"its image is {x}, it must have four axes", code="op-shape")
    gains = [g.cast(node[k], FLOAT32) for k in (1, 2)]
    numbers = {"num_groups": int(node.needed("groups")), "epsilon": float(node.attr("epsilon", 1e-5))}
    plain = derived(node, g.transpose(wide, (0, 3, 1, 2)) if last else wide, *gains, **numbers)
    found = group_normalization(replace(plain, opset=21))  # a scale for each channel, not for each group
    match int(node.needed("activation")):
        case 0:
            pass
        case 1:
            found = silu_of(node, found)
        case other:
            node.fail(f"activation {other} is not defined", help="0 for none, 1 for SiLU")
    return g.cast(g.transpose(found, (0, 2, 3, 1)) if last else found, x.dtype)


def nhwc_conv(node: OnnxNode) -> Value:
    """A convolution of images (batch, height, width, channels) with weights (outputs, height, width, inputs)"""
    weights = node.graph.transpose(node[1], (0, 3, 1, 2)) if node.rank(1) == 4 else node[1]
    return _channels_last(node, weights)


def nhwc_fused_conv(node: OnnxNode) -> Value:
    """activation(convolution + z) with weights laid out as in ONNX's Conv; the activation is optional"""
    found, z = _channels_last(node, node[1]), node.optional(3)
    found = found if z is None else node.graph.call("add", found, z)
    return activated(node, found)


def _channels_last(node: OnnxNode, weights: Value) -> Value:
    if node.rank() != 4 or weights.rank != 4:
        node.fail(f"it takes an image and weights of four axes, not {node[0]} and {node[1]}", code="op-shape")
    image = node.graph.transpose(node[0], (0, 3, 1, 2))
    found = conv(derived(node, image, weights, node.optional(2), **node.attributes))
    return node.graph.transpose(found, (0, 2, 3, 1))


def bias_add(node: OnnxNode) -> Value:
    """x + bias + skip"""
    return node.graph.call("add", node.graph.call("add", node[0], node[1]), node[2])


def bias_split_gelu(node: OnnxNode) -> Value:
    """The first half of the last axis of x + bias times the Gelu of the second"""
    total = node.graph.call("add", node[0], node[1])
    left, right = node.graph.call_many("split", total, indices_or_sections=2, axis=total.rank - 1)
    return node.graph.call("multiply", left, gelu(derived(node, right)))


CONTRIB_DIFFUSION: dict[str, Converter] = {
    "GroupNorm": group_norm, "SkipGroupNorm": skip_group_norm, "NhwcConv": nhwc_conv,
    "NhwcFusedConv": nhwc_fused_conv, "BiasAdd": bias_add, "BiasSplitGelu": bias_split_gelu,
}  # fmt: skip
