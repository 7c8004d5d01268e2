"""Operators of the domain `com.microsoft` that fuse small chains between the layers of language models, or are steps of
a beam search. Each follows onnxruntime's documentation of contributed operators.
"""

from __future__ import annotations

import math

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.elementwise import silu_of, softplus_of
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import FLOAT32, INT64


def gated_add(node: OnnxNode) -> Value:
    """x + y * gate"""
    g = node.graph
    return g.call("add", node[0], g.call("multiply", node[1], node[2]))


def scaled_silu(node: OnnxNode) -> Value:
    """z * sigmoid(z) of z = scale * x; the scale is an operand or `alpha`."""
    g, x, scale = node.graph, node[0], node.optional(1)
    if scale is None:
        scale = g.constant(float(node.attr("alpha", 1.0)), FLOAT32)
    wide = g.call("multiply", g.cast(x, scale.dtype), g.reshape(scale, ()))
    return silu_of(node, g.cast(wide, x.dtype))


def gated_rms_norm(node: OnnxNode) -> Value:
    """x / sqrt(mean(x²) + epsilon) * scale * activation(gate), over groups of the scale's length, in float32."""
    g, x, name = node.graph, node[0], str(node.attr("activation", "silu"))
    if name not in ("silu", "swish", "sigmoid"):
        node.fail(f"the activation {name!r} is not supported; silu, swish and sigmoid are")
    if x.shape is None or node[1].shape is None:
        node.fail("the shapes of its inputs must be known", code="onnx-dynamic")
    wide, scale, gate = (g.cast(node[k], FLOAT32) for k in range(3))
    parts = g.reshape(wide, (*x.shape[:-1], -1, node[1].shape[0]))
    square = g.call("mean", g.call("multiply", parts, parts), axis=(x.rank,), keepdims=True)
    deviation = g.call("rsqrt", g.call("add", square, g.scalar(float(node.attr("epsilon", 1e-5)), square)))
    normal = g.reshape(g.call("multiply", g.call("multiply", parts, deviation), scale), x.shape)
    opened = g.call("sigmoid", gate) if name == "sigmoid" else silu_of(node, gate)
    return g.cast(g.call("multiply", normal, opened), x.dtype)


def linear_attention_gate(node: OnnxNode) -> list[Value]:
    """(scale * softplus(a + bias), sigmoid(b)) of a, bias, scale and b, in float32"""
    g, dtype = node.graph, node[0].dtype
    a, bias, scale = (g.cast(node[k], FLOAT32) for k in range(3))
    found = [g.cast(g.call("multiply", scale, softplus_of(node, g.call("add", a, bias))), dtype)]
    rate = node.optional(3)
    if rate is not None:
        found.append(g.cast(g.call("sigmoid", g.cast(rate, FLOAT32)), dtype))
    return found


def without_repeats(node: OnnxNode) -> Value:
    """ids (batch, length), scores (batch, words): -inf for words that would repeat an n-gram of `ngram_size` words of
    the row.
    """
    g, ids, size = node.graph, node[0], int(node.needed("ngram_size"))
    if ids.shape is None or size < 1:
        node.fail(f"it takes rows of known rank and an ngram_size of 1 or more, not {ids} and {size}")
    batch, length = ids.shape
    # Behind so many words that there are none of, there are windows of rows of any length, too.
    rows = g.call("nn.pad", g.cast(ids, INT64), pad_width=(0, 0, size, 0), pad_value=-1.0)
    windows = length + 1
    said = g.call("greater_equal", _cut(node, rows, 0, windows), g.constant(0, INT64))
    for k in range(size - 1):
        same = g.call("equal", _cut(node, rows, k, windows), _cut(node, rows, windows + k, 1))
        said = g.call("logical_and", said, same)
    word = g.call("where", said, _cut(node, rows, size - 1, windows), g.constant(0, INT64))
    found = g.call("where", said, g.scalar(-math.inf, node[1]), g.scalar(math.inf, node[1]))
    return g.call("scatter_elements", node[1], word, g.of_shape(found, (batch, windows)), axis=1, reduction="min")


def _cut(node: OnnxNode, x: Value, start: Dim, count: Dim) -> Value:
    return node.graph.call("strided_slice", x, axes=(1,), begin=(start,), end=(start + count,), strides=(1,))


CONTRIB_GATES: dict[str, Converter] = {
    "GatedAdd": gated_add, "ScaledSiLU": scaled_silu, "GatedRMSNorm": gated_rms_norm,
    "LinearAttentionGate": linear_attention_gate, "NGramRepeatBlock": without_repeats,
}  # fmt: skip
