"""Relative position biases: operators of the domain `com.microsoft` for T5 and TNLR. Each follows onnxruntime's
documentation of contributed operators.
"""

from __future__ import annotations

import math

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.attention import counted, dims_of, parts_of, split_heads
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.dtype import FLOAT32, INT64


def relative_position_bias(node: OnnxNode) -> Value:
    """table (buckets, heads), as its transpose lies in memory, number of queries, of keys -> (1, heads, queries, keys)

    Half of the buckets hold one distance each, the others ever larger ranges of distances, up to `max_distance`; with
    `is_bidirectional` half of all buckets are for keys before the query, the others for keys after it.
    """
    g, (buckets, heads) = node.graph, dims_of(node, node[0], 2, "table")
    m, n = node.size(1, "the number of queries"), node.size(2, "the number of keys")
    if not isinstance(buckets, int):
        node.fail("the number of buckets must be known", code="onnx-dynamic")
    distance = g.call("subtract", counted(node, n, 1, n), counted(node, m, m, 1))
    if node.attr("is_bidirectional", 0):
        behind = g.cast(g.call("greater", distance, g.constant(0, INT64)), INT64)
        first = g.call("multiply", behind, g.constant(buckets // 2, INT64))
        bucket = g.call("add", first, _bucket(node, g.call("abs", distance), buckets // 2))
    else:
        before = g.call("maximum", g.call("negative", distance), g.constant(0, INT64))
        bucket = _bucket(node, before, buckets)
    by_head = g.call("take", g.reshape(node[0], (heads, buckets)), bucket, axis=1, mode="fast")
    return g.call("expand_dims", by_head, axis=(0,))


def _bucket(node: OnnxNode, distance: Value, buckets: int) -> Value:
    """The bucket of a distance >= 0."""
    g, single, farthest = node.graph, buckets // 2, int(node.needed("max_distance"))
    if single < 1 or farthest <= single:
        node.fail(f"a max_distance of {farthest} is within the {single} buckets of one distance each")
    near = g.call("less", distance, g.constant(single, INT64))
    ratio = g.call(
        "divide", g.cast(g.call("maximum", distance, g.constant(1, INT64)), FLOAT32), g.constant(single, FLOAT32)
    )
    part = g.call("divide", g.call("log", ratio), g.constant(math.log(farthest / single), FLOAT32))
    step = g.cast(g.call("multiply", part, g.constant(buckets - single, FLOAT32)), INT64)
    far = g.call("minimum", g.call("add", step, g.constant(single, INT64)), g.constant(buckets - 1, INT64))
    return g.call("where", near, distance, far)


def gated_relative_position_bias(node: OnnxNode) -> Value:
    """query (batch, length, heads * size), its bias, rel_pos (1, heads, length, length), weights (size, D), their bias,
    eco_a (1, heads, 1, 1) -> rel_pos times a gate for each query and head"""
    g = node.graph
    if node.optional(6) is not None:
        node.fail("token offsets (packed batches) are not supported")
    q = split_heads(node, g.call("add", node[0], node[1]), int(node.needed("num_heads")), "query")
    mixed = g.call("add", g.call("matmul", q, node[3]), node[4])
    batch, heads, length, width = dims_of(node, mixed, 4, "gates")
    halves = g.reshape(mixed, (batch, heads, length, 2, width // 2))
    u, r = parts_of(node, g.call("sigmoid", g.call("sum", halves, axis=(4,), keepdims=False)), (1, 1))
    one = g.scalar(1, r)
    gate = g.call("multiply", u, g.call("subtract", g.call("multiply", r, node[5]), one))
    return g.call("multiply", g.call("add", gate, g.scalar(2, gate)), node[2])


CONTRIB_RELATIVE: dict[str, Converter] = {
    "RelativePositionBias": relative_position_bias, "GatedRelativePositionBias": gated_relative_position_bias,
}  # fmt: skip
