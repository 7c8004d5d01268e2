"""Attention of generating language models, of the domain `com.microsoft`: groups of heads share keys, which are cached
between steps. `SparseAttention` attends to some blocks of them only.
"""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.attention import (
    attend,
    counted,
    dims_of,
    join_heads,
    kept_or,
    parts_of,
    split_heads,
)
from baton._src.frontends.onnx.microsoft.buffers import filled, visible, widened
from baton._src.frontends.onnx.microsoft.fused import derived
from baton._src.frontends.onnx.microsoft.rotary import rotated
from baton._src.frontends.onnx.nn.normalization import rms_normalization
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.tir.operators import max as larger
from baton._src.values.dtype import FLOAT32, INT64

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

    `seqlens_k` (batch,) + 1 is the number of keys of each row including the new ones, which follow its own past: rows
    of a batch may differ in length, and the past may be a buffer longer than its contents.
    """
    g = node.graph
    for name, plain in _REFUSED.items():
        if node.attr(name, plain) != plain:
            node.fail(f"{name} = {node.attr(name)!r} is not supported")
    q, k, v = _operands(node)
    before = _before(node, q, g.call("add", g.cast(node[5], INT64), g.constant(1, INT64)))
    q, k = _with_positions(node, q, k, _positions(node, q, before, node.optional(9)), 7)
    k, v = (_kept(node, node.optional(3 + i), x, before, 6) for i, x in enumerate((k, v)))
    m, n = (dims_of(node, x, 4, "heads")[2] for x in (q, k))
    window = int(node.attr("local_window_size", -1))
    if window == 0:
        node.fail("a local_window_size of 0 hides every key", help="-1 stands for no window")
    hidden = visible(node, before, m, n, q, causal=bool(node.attr("causal", 1)), window=window)
    bias = widened(node, node.optional(10), g.cast(node[6], INT64), n)
    shared_k, shared_v = (_for_every_head(node, x) for x in (k, v))
    out, _ = attend(node, q, shared_k, shared_v, (hidden, bias), _sink(node))
    return [join_heads(node, out), k, v]


def _operands(node: OnnxNode) -> list[Value]:
    """Query, key and value, split into heads; they may be concatenated in one operand."""
    heads, groups = int(node.needed("num_heads")), int(node.needed("kv_num_heads"))
    if groups < 1 or heads < 1 or heads % groups:
        node.fail(f"{groups} kv_num_heads do not divide {heads} num_heads")
    if node.optional(1) is None:
        width = dims_of(node, node[0], 3, "query")[2]
        if not isinstance(width, int):
            node.fail("the last axis of its query must be known, to be split into heads", code="onnx-dynamic")
        if width % (heads + 2 * groups):
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


def _before(node: OnnxNode, q: Value, ends: Value) -> Value:
    """(batch, 1): the number of keys of each row before its new ones, computed from the number including them."""
    g, (batch, _, m, _) = node.graph, dims_of(node, q, 4, "query")
    return g.call("maximum", g.call("subtract", g.reshape(ends, (batch, 1)), g.dims(m)), g.constant(0, INT64))


def _positions(node: OnnxNode, q: Value, before: Value, given: Value | None = None) -> Value:
    """(batch, m): the positions of the new tokens."""
    g, (batch, _, m, _) = node.graph, dims_of(node, q, 4, "query")
    if given is not None:
        return g.of_shape(g.cast(given, INT64), (batch, m))
    return g.call("add", before, counted(node, m, 1, m))


def _with_positions(node: OnnxNode, q: Value, k: Value, positions: Value, tables: int) -> tuple[Value, Value]:
    """Query and keys, rotated if the node says so; operand `tables` and the next one are the cosines and sines."""
    if not node.attr("do_rotary", 0):
        return q, k
    interleaved = bool(node.attr("rotary_interleaved", 0))
    cos, sin = node[tables], node[tables + 1]
    return rotated(node, q, positions, cos, sin, interleaved), rotated(node, k, positions, cos, sin, interleaved)


def _kept(node: OnnxNode, past: Value | None, new: Value, before: Value, longest_row: int) -> Value:
    """The past of each row with the new ones: as long as the past or the longest row (operand `longest_row`), whichever
    is longer.
    """
    if past is None:
        return new
    room = dims_of(node, past, 4, "past")[2]
    total = node.size(longest_row, "the total length")
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


def sparse_attention(node: OnnxNode) -> list[Value]:
    """query, key, value, past_key, past_value, block_row_indices, block_col_indices, total_sequence_length,
    key_total_sequence_lengths, cos_cache, sin_cache -> output, present_key, present_value.

    The blocks of keys that a block of queries sees are given as sparse matrices, which the heads use in rotation.
    """
    g = node.graph
    q, k, v = _operands(node)
    before = _before(node, q, g.cast(node[8], INT64))
    positions = _positions(node, q, before)
    q, k = _with_positions(node, q, k, positions, 9)
    k, v = (_kept(node, node[3 + i], x, before, 7) for i, x in enumerate((k, v)))
    m, n = (dims_of(node, x, 4, "heads")[2] for x in (q, k))
    hidden = visible(node, before, m, n, q, causal=True)
    shared_k, shared_v = (_for_every_head(node, x) for x in (k, v))
    out, _ = attend(node, q, shared_k, shared_v, (hidden, _hidden_blocks(node, q, positions, n)))
    return [join_heads(node, out), k, v]


def _hidden_blocks(node: OnnxNode, q: Value, positions: Value, n: Dim) -> Value:
    """The bias that hides from queries (batch, heads, m, size) at their positions those of n keys whose blocks their
    own block does not see.
    """
    g, size = node.graph, int(node.needed("sparse_block_size"))
    batch, heads, m, _ = dims_of(node, q, 4, "query")
    layouts, _ = dims_of(node, node[5], 2, "block_row_indices")
    if size < 1 or not isinstance(layouts, int) or not isinstance(heads, int) or heads % layouts:
        node.fail(f"{heads} heads cannot take turns with {layouts} layouts of blocks of {size}", code="op-shape")
    seen = _seen_blocks(node, layouts)
    rows = g.call("floor_divide", positions, g.constant(size, INT64))
    columns = g.call("floor_divide", counted(node, n, n), g.constant(size, INT64))
    last = g.dims(dims_of(node, seen, 3, "blocks")[2] - 1)
    by_row = g.call("take", seen, rows, axis=1, mode="fast")  # (layouts, batch, m, blocks)
    found = g.call("take", by_row, g.call("minimum", columns, last), axis=3, mode="fast")
    turns = g.call("expand_dims", g.transpose(found, (1, 0, 2, 3)), axis=(1,))
    kept = g.reshape(g.broadcast_to(turns, (batch, heads // layouts, layouts, m, n)), (batch, heads, m, n))
    return kept_or(node, kept, -q.dtype.largest_float, q)


def _seen_blocks(node: OnnxNode, layouts: int) -> Value:
    """bool (layouts, blocks, blocks): row i of a layout sees the blocks `columns[rows[i]:rows[i + 1]]`."""
    g = node.graph
    rows, columns = (g.cast(node[k], INT64) for k in (5, 6))
    (_, ends), (_, count) = (dims_of(node, v, 2, "indices of blocks") for v in (rows, columns))
    blocks, entries = ends - 1, counted(node, count, 1, 1, count)
    starts, stops = (
        g.call("strided_slice", rows, axes=(1,), begin=(k,), end=(k + blocks,), strides=(1,)) for k in (0, 1)
    )
    starts, stops = (g.call("expand_dims", v, axis=(2,)) for v in (starts, stops))
    of_row = g.call("logical_and", g.call("less_equal", starts, entries), g.call("less", entries, stops))
    is_block = g.call("equal", g.call("expand_dims", columns, axis=(2,)), counted(node, blocks, 1, 1, blocks))
    times = g.call("matmul", g.cast(of_row, FLOAT32), g.cast(is_block, FLOAT32))
    return g.call("greater", g.of_shape(times, (layouts, blocks, blocks)), g.scalar(0, times))


CONTRIB_CACHED: dict[str, Converter] = {
    "GroupQueryAttention": group_query_attention, "SparseAttention": sparse_attention,
}  # fmt: skip
