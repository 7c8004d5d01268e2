"""Attention of the domain `com.microsoft`: the code its operators share, Attention and QAttention.

All of them become `softmax(q k' * scale + bias) v` over (batch, heads, length, size): the form that other exporters
write and the passes recognise. Each operator follows onnxruntime's documentation of contributed operators.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.fused import derived
from baton._src.frontends.onnx.narrow import wide
from baton._src.frontends.onnx.nn.quantization import matmul_integer
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.matrix import matmul
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64


def dims_of(node: OnnxNode, x: Value, rank: int, what: str) -> tuple[Dim, ...]:
    """The sizes of `x`, which must be known and of `rank`."""
    if x.shape is None:
        node.fail(f"the shape of its {what} must be known", code="onnx-dynamic")
    if len(x.shape) != rank:
        node.fail(f"its {what} must have {rank} axes, got {len(x.shape)}", code="op-shape")
    return tuple(x.shape)


def split_heads(node: OnnxNode, x: Value, heads: int, what: str) -> Value:
    """(batch, length, heads * size) -> (batch, heads, length, size)"""
    batch, length, width = dims_of(node, x, 3, what)
    if not x.dtype.is_float:
        node.fail(f"its {what} must be floats, got {x}", code="onnx-dtype")
    if not isinstance(width, int):
        node.fail(f"the last axis of its {what} must be known, to be split into {heads} heads", code="onnx-dynamic")
    if heads < 1 or width % heads:
        node.fail(f"{heads} heads do not divide the last axis of its {what}, {width}", code="op-shape")
    apart = node.graph.reshape(x, (batch, length, heads, width // heads))
    return node.graph.transpose(apart, (0, 2, 1, 3))


def join_heads(node: OnnxNode, x: Value) -> Value:
    """(batch, heads, length, size) -> (batch, length, heads * size)"""
    batch, heads, length, size = dims_of(node, x, 4, "heads")
    return node.graph.reshape(node.graph.transpose(x, (0, 2, 1, 3)), (batch, length, heads * size))


def parts_of(node: OnnxNode, x: Value, sizes: Sequence[int]) -> tuple[Value, ...]:
    """Split the last axis into pieces."""
    places, total = [], 0
    for size in sizes[:-1]:
        total += size
        places.append(total)
    return node.graph.call_many("split", x, indices_or_sections=tuple(places), axis=x.rank - 1)


def attend(
    node: OnnxNode, q: Value, k: Value, v: Value, biases: Iterable[Value | None], sink: Value | None = None
) -> tuple[Value, Value]:
    """(softmax(q k' * scale + biases) v, the softmax); `sink` (heads): each head's extra score, which belongs to no
    key.

    Narrow floats are widened until the end, as onnxruntime does: what they lose of a score, the softmax raises e to,
    and a score that is not yet scaled may be beyond them.
    """
    g, dtype = node.graph, q.dtype
    size = dims_of(node, q, 4, "query")[-1]
    if not isinstance(size, int):
        node.fail("the size of a head must be known", code="onnx-dynamic")
    if size < 1:
        node.fail("its heads have no elements", code="op-shape")
    scale = float(node.attr("scale", 0.0)) or 1 / math.sqrt(size)
    q, k, v = (wide(node, x) for x in (q, k, v))
    scores = g.call("matmul", q, g.transpose(k, (0, 1, 3, 2)))
    scores = g.call("multiply", scores, g.scalar(scale, scores))
    cap = float(node.attr("softcap", 0.0))
    if cap:
        inner = g.call("tanh", g.call("multiply", scores, g.scalar(1 / cap, scores)))
        scores = g.call("multiply", inner, g.scalar(cap, scores))
    for bias in biases:
        scores = scores if bias is None else g.call("add", scores, g.cast(bias, scores.dtype))
    weights = g.call("nn.softmax", scores, axis=-1) if sink is None else _softmax_with(node, scores, sink)
    return g.cast(g.call("matmul", weights, v), dtype), g.cast(weights, dtype)


def _softmax_with(node: OnnxNode, scores: Value, sink: Value) -> Value:
    """The softmax over the scores and one extra score, which is dropped from the result."""
    g = node.graph
    batch, heads, m, n = dims_of(node, scores, 4, "scores")
    column = g.broadcast_to(g.reshape(g.cast(sink, scores.dtype), (1, -1, 1, 1)), (batch, heads, m, 1))
    whole = g.call("nn.softmax", g.call("concat", (scores, column), axis=3), axis=-1)
    return g.call("strided_slice", whole, axes=(3,), begin=(0,), end=(n,), strides=(1,))


def appended(node: OnnxNode, past: Value | None, x: Value) -> Value:
    """The past and `x`, concatenated along the length of (batch, heads, length, size)."""
    return x if past is None else node.graph.call("concat", (past, x), axis=2)


def counted(node: OnnxNode, count: Dim, *shape: Dim) -> Value:
    """0, 1, ..., count - 1, reshaped."""
    return node.graph.reshape(node.graph.call("arange", start=0, stop=count, step=1, dtype=INT64), shape)


def kept_or(node: OnnxNode, kept: Value, low: float, like: Value) -> Value:
    """The bias of the scores: 0 where `kept`, else `low`."""
    g = node.graph
    return g.call("where", kept, g.scalar(0, like), g.scalar(low, like))


def causal_bias(node: OnnxNode, m: Dim, n: Dim, like: Value) -> Value:
    """The causal mask as a bias: the last of m queries sees all n keys, the one before it all but the last, ..."""
    g = node.graph
    last = g.call("add", counted(node, m, m, 1), g.dims(n - m))
    kept = g.call("less_equal", counted(node, n, 1, n), last)
    return kept_or(node, kept, -like.dtype.largest_float, like)


def padding_bias(node: OnnxNode, mask: Value | None, q: Value, n: Dim) -> Value | None:
    """The bias of a mask for the scores of the queries `q` (batch, heads, m, size) with n keys.

    mask: (batch,) numbers of keys; (2 * batch,) ends, then starts; (3 * batch + 2,) numbers of keys, then the offsets
    of rows without padding; (batch, n) or (batch, m, n), where 0 hides a key.
    """
    if mask is None:
        return None
    g, batch = node.graph, dims_of(node, q, 4, "query")[0]
    low = float(node.attr("mask_filter_value", -10000.0))
    if mask.shape is None:
        node.fail("the shape of the mask must be known", code="onnx-dynamic")
    match mask.rank:
        case 1:
            kept = _between(node, mask, batch, n)
        case 2:
            kept = g.call("greater", g.reshape(mask, (mask.shape[0], 1, 1, mask.shape[1])), g.scalar(0, mask))
        case 3:
            kept = g.call("greater", g.call("expand_dims", mask, axis=(1,)), g.scalar(0, mask))
        case _:
            node.fail(f"a mask of {mask.rank} axes is not supported")
    return kept_or(node, kept, low, q)


def _between(node: OnnxNode, mask: Value, batch: Dim, n: Dim) -> Value:
    """Which keys are before each row's end and, if starts are given, not before its start."""
    g = node.graph
    assert mask.shape is not None
    places, count = g.cast(counted(node, n, 1, 1, 1, n), mask.dtype), mask.shape[0]
    if g.prover.equal(count, batch * 3 + 2):
        mask = g.call("strided_slice", mask, axes=(0,), begin=(0,), end=(batch,), strides=(1,))
    if not g.prover.equal(count, batch * 2):
        return g.call("less", places, g.reshape(g.of_shape(mask, (batch,)), (batch, 1, 1, 1)))
    rows = g.reshape(mask, (2, batch, 1, 1, 1))
    end, start = (g.call("take", rows, g.constant(k, "int64"), axis=0) for k in range(2))
    return g.call("logical_and", g.call("less", places, end), g.call("greater_equal", places, start))


def attention(node: OnnxNode) -> list[Value]:
    """input, weights, bias, mask, past, attention_bias"""
    product = matmul(derived(node, node[0], node[1]))
    return _self_attention(node, product, node.optional(2), node.optional(3), node.optional(4), node.optional(5))


def qattention(node: OnnxNode) -> list[Value]:
    """input, weights, bias, input_scale, weight_scale, mask, input_zero, weight_zero, past"""
    g = node.graph
    total = matmul_integer(derived(node, node[0], node[1], node.optional(6), node.optional(7)))
    product = g.call("multiply", g.cast(total, node[3].dtype), g.call("multiply", node[3], node[4]))
    return _self_attention(node, product, node.optional(2), node.optional(5), node.optional(8), None)


def _self_attention(
    node: OnnxNode, product: Value, bias: Value | None, mask: Value | None, past: Value | None, added: Value | None
) -> list[Value]:
    g, heads = node.graph, int(node.attr("num_heads", 0))
    for name in ("do_rotary", "past_present_share_buffer"):
        if node.attr(name, 0):
            node.fail(f"{name} is not supported")
    product = product if bias is None else g.call("add", product, bias)
    width = dims_of(node, product, 3, "input")[-1]
    if not isinstance(width, int):
        node.fail("the size of its weights must be known", code="onnx-dynamic")
    sizes = node.ints("qkv_hidden_sizes") or (width // 3,) * 3
    if len(sizes) != 3 or sum(sizes) != width:
        node.fail(f"its qkv_hidden_sizes {list(sizes)} do not make up the {width} columns", code="op-shape")
    q, k, v = (split_heads(node, x, heads, "input") for x in parts_of(node, product, sizes))
    if past is not None:
        k, v = (appended(node, g.call("take", past, g.constant(i, "int64"), axis=0), x) for i, x in enumerate((k, v)))
    m, n = (dims_of(node, x, 4, "heads")[2] for x in (q, k))
    causal = causal_bias(node, m, n, q) if node.attr("unidirectional", 0) else None
    out, _ = attend(node, q, k, v, (causal, padding_bias(node, mask, q, n), added))
    present = [g.call("stack", (k, v), axis=0)] if any(node.outputs[1:2]) else []
    return [join_heads(node, out), *present]


CONTRIB_ATTENTION: dict[str, Converter] = {"Attention": attention, "QAttention": qattention}
