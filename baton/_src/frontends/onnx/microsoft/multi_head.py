"""Attention of the domain `com.microsoft` on projected query, key and value: MultiHeadAttention, and
DecoderMaskedMultiHeadAttention, its step of one token. Either may keep its keys in a buffer larger than its contents,
and read it by the beams of a search.
"""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.attention import (
    appended,
    attend,
    causal_bias,
    dims_of,
    join_heads,
    padding_bias,
    parts_of,
    split_heads,
)
from baton._src.frontends.onnx.microsoft.buffers import filled, of_beams, visible, widened, with_room
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import INT64


@dataclass(frozen=True)
class _Operands:
    """The operands common to both operators, which have them in different positions."""

    bias: Value | None
    mask: Value | None
    added: Value | None
    past: tuple[Value | None, Value | None]
    length: Value | None
    """The number of keys in the buffers `past`; without it, all of `past` is in use."""
    beams: Value | None


def multi_head_attention(node: OnnxNode) -> list[Value]:
    """query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value, past_sequence_length,
    cache_indirection"""
    bias, mask, added, keys, values, length, beams = (node.optional(k) for k in range(3, 10))
    return _attended(node, _three(node), _Operands(bias, mask, added, (keys, values), length, beams))


def decoder_masked_multi_head_attention(node: OnnxNode) -> list[Value]:
    """query, key, value, mask_index, attention_bias, past_key, past_value, past_sequence_length, beam_width,
    cache_indirection, bias: one query for each row"""
    mask, added, keys, values, length, _, beams, bias = (node.optional(k) for k in range(3, 11))
    if node.attr("past_present_share_buffer", 0) and keys is not None and length is None:
        node.fail("it shares buffers, and does not say by past_sequence_length what is in them")
    batch, _, width = dims_of(node, node[0], 3, "query")
    query = node.graph.of_shape(node[0], (batch, 1, width))
    if node.optional(1) is not None:
        three = (query, node[1], node[2])
    elif isinstance(width, int) and width % 3 == 0:
        q, k, v = parts_of(node, query, (width // 3,) * 3)
        three = (q, k, v)
    else:
        node.fail(f"the width {width} of its packed query is not three times that of a query", code="op-shape")
    return _attended(node, three, _Operands(bias, mask, added, (keys, values), length, beams))


def _attended(node: OnnxNode, three: tuple[Value, Value, Value], given: _Operands) -> list[Value]:
    """The output, the keys and values to keep, and the weights of the keys."""
    q, k, v = _biased_heads(node, *three, int(node.needed("num_heads")), given.bias)
    causal = bool(node.attr("unidirectional", 0))
    if given.length is not None:
        return _attended_in_buffers(node, q, k, v, given, causal)
    if given.beams is not None:
        node.fail("it has a cache_indirection, and no past_sequence_length to tell what is in the cache")
    if causal:
        k, v = (_as_long_as(node, x, q) for x in (k, v))
    k, v = (appended(node, past, x) for past, x in zip(given.past, (k, v), strict=True))
    m, n = (dims_of(node, x, 4, "heads")[2] for x in (q, k))
    hidden = causal_bias(node, m, n, q) if causal else None
    out, weights = attend(node, q, k, v, (hidden, padding_bias(node, given.mask, q, n), given.added))
    return [join_heads(node, out), k, v, weights]


def _attended_in_buffers(node: OnnxNode, q: Value, k: Value, v: Value, given: _Operands, causal: bool) -> list[Value]:
    g = node.graph
    keys, values = given.past
    if keys is None or values is None:
        node.fail("it has a past_sequence_length, and no past_key and past_value")
    if any(node.outputs[3:4]):
        node.fail("the weights of keys in a buffer are not supported: how many there are only a run tells")
    assert given.length is not None
    batch, _, m, _ = dims_of(node, q, 4, "query")
    room = dims_of(node, keys, 4, "past_key")[2]
    before = with_room(node, g.reshape(g.cast(given.length, INT64), (1, 1)), m, room)
    total = g.call("add", before, g.dims(m))
    before = g.broadcast_to(before, (batch, 1))
    k, v = (filled(node, past, x, before, room) for past, x in ((keys, k), (values, v)))
    seen_k, seen_v = (x if given.beams is None else of_beams(node, x, given.beams, before) for x in (k, v))
    mask = given.mask if given.mask is None or given.mask.rank == 1 else widened(node, given.mask, total, room)
    biases = (
        visible(node, before, m, room, q, causal=causal),
        padding_bias(node, mask, q, room),
        widened(node, given.added, total, room),
    )
    out, _ = attend(node, q, seen_k, seen_v, biases)
    return [join_heads(node, out), k, v]


def _as_long_as(node: OnnxNode, x: Value, q: Value) -> Value:
    """New keys or values, one for each query: known here, or checked at run time. What a query would see of others is
    unspecified, and onnxruntime's results follow no rule.
    """
    (batch, heads, length, size), wanted = dims_of(node, x, 4, "operands"), dims_of(node, q, 4, "query")[2]
    if isinstance(length, int) and isinstance(wanted, int) and length != wanted:
        node.fail(f"it is unidirectional, with {wanted} queries for {length} keys or values", code="op-shape")
    return node.graph.of_shape(x, (batch, heads, wanted, size))


def _three(node: OnnxNode) -> tuple[Value, Value, Value]:
    """Query, key and value, each (batch, length, width), or (batch, heads, length, size); they may be packed as (batch,
    length, heads, 3, size), or the last two as (batch, length, heads, 2, size).
    """
    if node[0].rank == 5:
        q, k, v = (_unpacked(node, node[0], i) for i in range(3))
        return q, k, v
    if node[1].rank == 5:
        return node[0], _unpacked(node, node[1], 0), _unpacked(node, node[1], 1)
    return node[0], node[1], node[2]


def _unpacked(node: OnnxNode, x: Value, index: int) -> Value:
    batch, length, heads, _, size = dims_of(node, x, 5, "packed operand")
    one = node.graph.call("take", x, node.graph.constant(index, "int64"), axis=3)
    return node.graph.reshape(one, (batch, length, heads * size))


def _biased_heads(
    node: OnnxNode, q: Value, k: Value, v: Value, heads: int, bias: Value | None
) -> tuple[Value, Value, Value]:
    """Query, key and value split into heads, each with its part of the bias added."""
    g = node.graph
    biases: list[Value | None] = [None] * 3
    if bias is not None:
        width, total = dims_of(node, q, 3, "query")[-1], dims_of(node, bias, 1, "bias")[0]
        if not isinstance(width, int) or not isinstance(total, int):
            node.fail("the size of its bias must be known", code="onnx-dynamic")
        biases = list(parts_of(node, bias, (width, width, total - 2 * width)))
    found = []
    for x, b in zip((q, k, v), biases, strict=True):
        if x.rank == 4:  # by heads already, projected and biased when it was cached
            found.append(x)
        else:
            found.append(split_heads(node, x if b is None else g.call("add", x, b), heads, "operands"))
    return found[0], found[1], found[2]


CONTRIB_MULTI_HEAD: dict[str, Converter] = {
    "MultiHeadAttention": multi_head_attention,
    "DecoderMaskedMultiHeadAttention": decoder_masked_multi_head_attention,
}
