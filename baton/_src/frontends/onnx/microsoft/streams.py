"""Operators of the domain `com.microsoft` on parallel streams of one token: hyper-connections, and Engram's gate.

Streams (..., count, width) may be flattened to (..., count * width), with their number in `num_branches`. Arithmetic is
in float32. Each operator follows onnxruntime's documentation of contributed operators.
"""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.dtype import FLOAT32


def branchwise_rms_norm(node: OnnxNode) -> Value:
    """Each stream divided by its own root mean square, times a scale (count * width), (count, width) or (width)."""
    g, x = node.graph, _streams(node, node[0])
    found, scale = _normal(node, x), node.optional(1)
    if scale is not None:
        flat = scale.rank == 1 and not g.prover.equal(scale.known_shape()[0], x.known_shape()[-1])
        gains = g.reshape(scale, x.known_shape()[-2:]) if flat else scale
        found = g.call("multiply", found, g.cast(gains, FLOAT32))
    return _like_input(node, found)


def mixed_before(node: OnnxNode) -> Value:
    """reduction_scale * the sum of streams, each weighted by a gate for all or for each of its features"""
    g, x = node.graph, _streams(node, node[0])
    total = g.call("sum", g.call("multiply", x, _gates(node, node[1], x)), axis=(x.rank - 2,), keepdims=False)
    factor = float(node.attr("reduction_scale", 1.0))
    return g.cast(g.call("multiply", total, g.scalar(factor, total)), node[0].dtype)


def mixed_after(node: OnnxNode) -> Value:
    """The streams, mixed with each other if `stream_mix` (..., from, to) is given, plus a block's output times
    gates.
    """
    g, x, mix = node.graph, _streams(node, node[0]), node.optional(3)
    block = g.call("expand_dims", g.cast(node[1], FLOAT32), axis=(x.rank - 2,))
    added = g.call("multiply", _gates(node, node[2], x), block)
    if mix is not None:
        axes = (*range(x.rank - 2), x.rank - 1, x.rank - 2)
        x = g.call("matmul", g.transpose(g.cast(mix, FLOAT32), axes), x)
    return _like_input(node, g.call("add", x, added))


def engram_gate(node: OnnxNode) -> list[Value]:
    """key, query (batch, length, count, width), value (batch, length, width), scales of key, query and result (count,
    width) -> value times the gate of each stream, and the same normalised.

    The gate is the sigmoid of s * sqrt(max(|s|, 1e-6)) / |s|, where s = normalised key . normalised query /
    sqrt(width).
    """
    g, last = node.graph, node.rank() - 1
    key, query = (g.call("multiply", _normal(node, g.cast(node[k], FLOAT32)), _wide(node, 3 + k)) for k in (0, 1))
    score = g.call("mean", g.call("multiply", key, query), axis=(last,), keepdims=True)
    width = g.cast(g.dims(node[0].known_shape()[-1]), FLOAT32)
    score = g.call("multiply", score, g.call("sqrt", width))
    root = g.call("sqrt", g.call("maximum", g.call("abs", score), g.scalar(1e-6, score)))
    gate = g.call("sigmoid", g.call("multiply", g.call("sign", score), root))
    gated = g.call("multiply", gate, g.call("expand_dims", _wide(node, 2), axis=(last - 1,)))
    if not any(node.outputs[1:]):
        return [g.cast(gated, node[0].dtype)]
    normal = g.call("multiply", _normal(node, gated), _wide(node, 5))
    return [g.cast(v, node[0].dtype) for v in (gated, normal)]


def _wide(node: OnnxNode, index: int) -> Value:
    return node.graph.cast(node[index], FLOAT32)


def _streams(node: OnnxNode, x: Value) -> Value:
    """(..., count, width) in float32"""
    count = int(node.attr("num_branches", 0))
    if x.shape is None or x.rank < (1 if count else 2):
        node.fail(f"its streams are {x}", code="op-shape", help="(..., count, width), or flat with num_branches")
    wide = node.graph.cast(x, FLOAT32)
    if not count:
        return wide
    width = x.shape[-1]
    if count < 0 or (isinstance(width, int) and width % count):
        node.fail(f"{count} num_branches do not divide the last axis of {x}", code="op-shape")
    return node.graph.reshape(wide, (*x.shape[:-1], count, width // count))


def _like_input(node: OnnxNode, found: Value) -> Value:
    return node.graph.reshape(node.graph.cast(found, node[0].dtype), node[0].known_shape())


def _normal(node: OnnxNode, x: Value) -> Value:
    """x / sqrt(mean(x²) + epsilon), over the last axis"""
    g = node.graph
    square = g.call("mean", g.call("multiply", x, x), axis=(x.rank - 1,), keepdims=True)
    return g.call("multiply", x, g.call("rsqrt", g.call("add", square, g.scalar(float(node.attr("epsilon", 1e-5)), x))))


def _gates(node: OnnxNode, gates: Value, x: Value) -> Value:
    """The gates of streams `x`, (..., count), (..., count, 1 or width) or flat, reshaped to broadcast with `x`."""
    g, wide = node.graph, node.graph.cast(gates, FLOAT32)
    if gates.rank == x.rank:
        return wide
    count = x.known_shape()[-2]
    if gates.shape is None or gates.rank != x.rank - 1:
        node.fail(f"its gates are {gates} for streams {x}", code="op-shape")
    one = g.prover.equal(gates.shape[-1], count)
    return g.reshape(wide, (*gates.shape[:-1], count, 1) if one else x.known_shape())


CONTRIB_STREAMS: dict[str, Converter] = {
    "BranchwiseRMSNorm": branchwise_rms_norm, "HyperConnectionPreMix": mixed_before,
    "HyperConnectionPostMix": mixed_after, "EngramGate": engram_gate,
}  # fmt: skip
