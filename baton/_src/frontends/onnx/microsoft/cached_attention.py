"""Of the domain `com.microsoft`, what language models that generate are written with: rotary embeddings, and attention
whose groups of heads share keys that are kept from step to step."""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.attention import (
    attend,
    counted,
    dims_of,
    join_heads,
    parts_of,
    split_heads,
)
from baton._src.frontends.onnx.microsoft.buffers import filled, visible, widened
from baton._src.frontends.onnx.microsoft.fused import derived
from baton._src.frontends.onnx.nn.normalization import rms_normalization
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.tir.operators import max as larger
from baton._src.values.dtype import INT64


def rotary_embedding(node: OnnxNode) -> Value:
    """input (batch, length, width) or (batch, heads, length, size), position_ids, cos_cache, sin_cache"""
    g, x, positions = node.graph, node[0], node[1]
    if node.attr("is_packed_batching", 0) or float(node.attr("scale", 1.0)) != 1.0:
        node.fail("packed batches and scales are not supported")
    half = dims_of(node, node[2], 2, "cos_cache")[1]
    if x.rank == 4:
        by_heads = x
    else:
        width, heads = dims_of(node, x, 3, "input")[2], int(node.attr("num_heads", 0))
        if not isinstance(width, int) or not isinstance(half, int):
            node.fail("the size of a head must be known", code="onnx-dynamic")
        by_heads = split_heads(node, x, heads or width // (2 * half), "input")
    length = dims_of(node, by_heads, 4, "heads")[2]
    positions = g.cast(positions, INT64)
    if positions.rank < 2:
        positions = g.call("add", g.reshape(positions, (1, 1)), counted(node, length, 1, length))
    found = rotated(node, by_heads, positions, node[2], node[3], bool(node.attr("interleaved", 0)))
    return found if x.rank == 4 else join_heads(node, found)


def rotated(node: OnnxNode, x: Value, positions: Value, cos: Value, sin: Value, interleaved: bool) -> Value:
    """`x` (batch, heads, length, size) with pairs of numbers turned by the angles of their positions (batch or 1,
    length). The pairs are neighbours if `interleaved`, else halves of what is turned, which may be only a front part.
    """
    g = node.graph
    batch, heads, length, size = dims_of(node, x, 4, "heads")
    half = dims_of(node, cos, 2, "cos_cache")[1]
    if not isinstance(half, int) or not isinstance(size, int):
        node.fail("the size of a head must be known", code="onnx-dynamic")
    turned, rest = (x, None) if 2 * half == size else parts_of(node, x, (2 * half, size - 2 * half))
    c, s = (
        g.call("expand_dims", g.call("take", table, positions, axis=0, mode="fast"), axis=(1,)) for table in (cos, sin)
    )
    if interleaved:
        pairs = g.reshape(turned, (batch, heads, length, half, 2))
        a, b = (g.call("take", pairs, g.constant(i, "int64"), axis=4) for i in range(2))
    else:
        a, b = parts_of(node, turned, (half, half))
    real = g.call("subtract", g.call("multiply", a, c), g.call("multiply", b, s))
    imaginary = g.call("add", g.call("multiply", a, s), g.call("multiply", b, c))
    if interleaved:
        found = g.reshape(g.call("stack", (real, imaginary), axis=4), (batch, heads, length, 2 * half))
    else:
        found = g.call("concat", (real, imaginary), axis=3)
    return found if rest is None else g.call("concat", (found, rest), axis=3)


_REFUSED = {
    "sliding_window_cache": 0,
    "qk_output": 0,
    "k_quant_type": "NONE",
    "v_quant_type": "NONE",
    "kv_cache_bit_width": 0,
}


def group_query_attention(node: OnnxNode) -> list[Value]:
    """query, key, value, past_key, past_value, seqlens_k, total_sequence_length, cos_cache, sin_cache, position_ids,
    attention_bias, head_sink, k_scale, v_scale, q_norm_weight, k_norm_weight -> output, present_key, present_value.

    `seqlens_k` (batch,) + 1 is how many keys each row has with the new ones, which follow its own past: rows of a
    batch may be of different lengths, and the past may be a buffer longer than what is in it.
    """
    g = node.graph
    for name, plain in _REFUSED.items():
        if node.attr(name, plain) != plain:
            node.fail(f"{name} = {node.attr(name)!r} is not supported")
    q, k, v = _operands(node)
    batch, _, m, _ = dims_of(node, q, 4, "query")
    ends = g.reshape(g.call("add", g.cast(node[5], INT64), g.constant(1, INT64)), (batch, 1))
    before = g.call("maximum", g.call("subtract", ends, g.dims(m)), g.constant(0, INT64))
    q, k = _with_positions(node, q, k, before)
    k, v = (_kept(node, node.optional(3 + i), x, before) for i, x in enumerate((k, v)))
    n = dims_of(node, k, 4, "keys")[2]
    window = int(node.attr("local_window_size", -1))
    if window == 0:
        node.fail("a local_window_size of 0 hides every key", help="-1 stands for no window")
    hidden = visible(node, before, m, n, q, causal=bool(node.attr("causal", 1)), window=window)
    bias = widened(node, node.optional(10), g.cast(node[6], INT64), n)
    shared_k, shared_v = (_for_every_head(node, x) for x in (k, v))
    out, _ = attend(node, q, shared_k, shared_v, (hidden, bias), _sink(node))
    return [join_heads(node, out), k, v]


def _operands(node: OnnxNode) -> list[Value]:
    """Query, key and value by heads; they may come packed one behind the other."""
    heads, groups = int(node.needed("num_heads")), int(node.needed("kv_num_heads"))
    if groups < 1 or heads < 1 or heads % groups:
        node.fail(f"{groups} kv_num_heads do not divide {heads} num_heads")
    if node.optional(1) is None:
        width = dims_of(node, node[0], 3, "query")[2]
        if not isinstance(width, int) or width % (heads + 2 * groups):
            node.fail(f"{heads} + 2 * {groups} heads do not divide the width {width} of its query", code="op-shape")
        size = width // (heads + 2 * groups)
        given = parts_of(node, node[0], (heads * size, groups * size, groups * size))
    else:
        given = (node[0], node[1], node[2])
    found = [split_heads(node, x, h, "operands") for x, h in zip(given, (heads, groups, groups), strict=True)]
    common = float(node.attr("qk_norm_epsilon", 1e-6))
    for index, (name, gain) in enumerate((("q", node.optional(14)), ("k", node.optional(15)))):
        if gain is not None:
            epsilon = float(node.attr(f"{name}_norm_epsilon", common))
            found[index] = rms_normalization(derived(node, found[index], gain, epsilon=epsilon))
    return found


def _with_positions(node: OnnxNode, q: Value, k: Value, before: Value) -> tuple[Value, Value]:
    if not node.attr("do_rotary", 0):
        return q, k
    g, m = node.graph, dims_of(node, q, 4, "query")[2]
    batch, given = dims_of(node, q, 4, "query")[0], node.optional(9)
    if given is None:
        positions = g.call("add", before, counted(node, m, 1, m))
    else:
        positions = g.of_shape(g.cast(given, INT64), (batch, m))
    interleaved = bool(node.attr("rotary_interleaved", 0))
    turned = [rotated(node, x, positions, node[7], node[8], interleaved) for x in (q, k)]
    return turned[0], turned[1]


def _kept(node: OnnxNode, past: Value | None, new: Value, before: Value) -> Value:
    """The past of each row with the new ones: as long as the past or as the longest row, whichever is more, which the
    operator's total length says."""
    if past is None:
        return new
    room = dims_of(node, past, 4, "past")[2]
    (total,) = node.sizes(6, "the total length")
    longest: Dim = max(total, room) if isinstance(total, int) and isinstance(room, int) else larger(total, room)
    return filled(node, past, new, before, longest)


def _for_every_head(node: OnnxNode, x: Value) -> Value:
    """Keys or values (batch, groups, n, size) repeated for all heads of their group."""
    heads, groups = int(node.attr("num_heads")), int(node.attr("kv_num_heads"))
    if heads == groups:
        return x
    g = node.graph
    batch, _, n, size = dims_of(node, x, 4, "keys")
    wide = g.broadcast_to(g.call("expand_dims", x, axis=(2,)), (batch, groups, heads // groups, n, size))
    return g.reshape(wide, (batch, heads, n, size))


def _sink(node: OnnxNode) -> Value | None:
    given = node.optional(11)
    if given is None and int(node.attr("smooth_softmax", -1)) == 1:
        return node.graph.constant([0.0] * int(node.attr("num_heads")), node[0].dtype)
    return given


CONTRIB_CACHED: dict[str, Converter] = {
    "RotaryEmbedding": rotary_embedding, "GroupQueryAttention": group_query_attention,
}  # fmt: skip
