"""A decoder as in Llama (Touvron et al., 2023): RMS norm, rotary positions, grouped queries, SwiGLU.

Both variants take the keys and values of earlier tokens and give back all of them. The norm and the rotary
positions are written in plain operators, the way exporters do without special ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto

from bench.models.graph import Dim, Graph
from bench.models.layers import linear

MASKED = float(np.finfo(np.float32).min)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of a layer; `kv_heads` divides `heads`, each key and value serves several queries."""

    hidden: int
    heads: int
    kv_heads: int
    intermediate: int

    @property
    def head(self) -> int:
        return self.hidden // self.heads


@dataclass(frozen=True, slots=True)
class Tokens:
    """What all layers share: run-time sizes (values of shape (1,)), rotary tables, and the mask's bias."""

    batch: str
    sequence: str
    total: str
    cos: str
    sin: str
    bias: str


def rms_norm(graph: Graph, x: str, size: int, label: str, epsilon: float = 1e-5) -> str:
    """x / sqrt(mean(x²) + epsilon) · weight, over the last axis."""
    with graph.scope(label):
        weight = graph.normal("weight", (size,), 0.05, mean=1.0)
        square = graph.op("Pow", x, graph.constant(2.0))
        mean = graph.op("ReduceMean", square, axes=[-1], keepdims=1)
        root = graph.op("Sqrt", graph.op("Add", mean, graph.constant(epsilon)))
        scaled = graph.op("Mul", x, graph.op("Reciprocal", root))
        return graph.op("Mul", weight, scaled)


def rotary_tables(graph: Graph, positions: str, head: int) -> tuple[str, str]:
    """cos and sin of position · frequency: (1, 1, sequence, head) each; `positions` is int64 (sequence,)."""
    frequency = 10000.0 ** (-np.arange(0, head, 2, dtype=np.float64) / head)
    column = graph.op("Unsqueeze", graph.op("Cast", positions, to=TensorProto.FLOAT), graph.integers([1]))
    angle = graph.op("MatMul", column, graph.constant(frequency[None]))
    both = graph.op("Unsqueeze", graph.op("Concat", angle, angle, axis=-1), graph.integers([0, 1]))
    return graph.op("Cos", both), graph.op("Sin", both)


def rotate(graph: Graph, x: str, tokens: Tokens, head: int) -> str:
    """Turn each pair (x[i], x[i + head/2]) by the angle of its position."""
    middle, axis, step = head // 2, graph.integers([3]), graph.integers([1])
    first = graph.op("Slice", x, graph.integers([0]), graph.integers([middle]), axis, step)
    second = graph.op("Slice", x, graph.integers([middle]), graph.integers([head]), axis, step)
    turned = graph.op("Concat", graph.op("Neg", second), first, axis=-1)
    return graph.op("Add", graph.op("Mul", x, tokens.cos), graph.op("Mul", turned, tokens.sin))


def causal_bias(graph: Graph, past: str, total: str) -> str:
    """0 where a token may look (itself and before), the lowest float where it may not: (sequence, total)."""

    def positions(start: str, stop: str) -> str:
        ends = (graph.op("Squeeze", end) for end in (start, stop))
        return graph.op("Range", *ends, graph.constant(1, np.int64))

    column = graph.op("Unsqueeze", positions(past, total), graph.integers([1]))
    visible = graph.op("LessOrEqual", positions(graph.integers([0]), total), column)
    return graph.op("Where", visible, graph.constant(0.0), graph.constant(MASKED))


def shared_tokens(graph: Graph, first_past: str, sizes: Sizes) -> Tokens:
    """Sizes, tables and mask, computed once from the inputs."""
    batch, sequence = graph.size("input_ids", 0), graph.size("input_ids", 1)
    past = graph.size(first_past, 2)
    total = graph.op("Add", past, sequence)
    ends = (graph.op("Squeeze", end) for end in (past, total))
    positions = graph.op("Range", *ends, graph.constant(1, np.int64))
    cos, sin = rotary_tables(graph, positions, sizes.head)
    return Tokens(batch, sequence, total, cos, sin, causal_bias(graph, past, total))


def repeat_heads(graph: Graph, x: str, tokens: Tokens, sizes: Sizes) -> str:
    """Keys or values once for every query head that shares them."""
    times = sizes.heads // sizes.kv_heads
    if times == 1:
        return x
    wide = graph.op("Unsqueeze", x, graph.integers([2]))
    target = graph.shape(tokens.batch, sizes.kv_heads, times, tokens.total, sizes.head)
    expanded = graph.op("Expand", wide, target)
    return graph.op("Reshape", expanded, graph.shape(tokens.batch, sizes.heads, tokens.total, sizes.head))


def attention(graph: Graph, x: str, past: tuple[str, str], tokens: Tokens, sizes: Sizes) -> tuple[str, str, str]:
    """Causal attention; returns its result and all keys and values, (batch, kv_heads, total, head) each."""

    def project(label: str, heads: int) -> str:
        y = linear(graph, x, (sizes.hidden, heads * sizes.head), bias=False, label=label)
        y = graph.op("Reshape", y, graph.shape(tokens.batch, tokens.sequence, heads, sizes.head))
        return graph.op("Transpose", y, perm=[0, 2, 1, 3])

    query = rotate(graph, project("query", sizes.heads), tokens, sizes.head)
    key = rotate(graph, project("key", sizes.kv_heads), tokens, sizes.head)
    key = graph.op("Concat", past[0], key, axis=2)
    value = graph.op("Concat", past[1], project("value", sizes.kv_heads), axis=2)
    columns = graph.op("Transpose", repeat_heads(graph, key, tokens, sizes), perm=[0, 1, 3, 2])
    scores = graph.op("Mul", graph.op("MatMul", query, columns), graph.constant(1.0 / math.sqrt(sizes.head)))
    weights = graph.op("Softmax", graph.op("Add", scores, tokens.bias), axis=-1)
    gathered = graph.op("MatMul", weights, repeat_heads(graph, value, tokens, sizes))
    gathered = graph.op("Transpose", gathered, perm=[0, 2, 1, 3])
    gathered = graph.op("Reshape", gathered, graph.shape(tokens.batch, tokens.sequence, sizes.hidden))
    result = linear(graph, gathered, (sizes.hidden, sizes.hidden), bias=False, label="output")
    return result, key, value


def feed_forward(graph: Graph, x: str, sizes: Sizes) -> str:
    """(silu(x · gate) * (x · up)) · down."""
    gate = linear(graph, x, (sizes.hidden, sizes.intermediate), bias=False, label="gate")
    gate = graph.op("Mul", gate, graph.op("Sigmoid", gate))
    up = linear(graph, x, (sizes.hidden, sizes.intermediate), bias=False, label="up")
    return linear(graph, graph.op("Mul", gate, up), (sizes.intermediate, sizes.hidden), bias=False, label="down")


def build(
    batch: Dim = 1,
    sequence: Dim = 1,
    past: Dim = "past",
    layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    kv_heads: int = 4,
    intermediate: int = 2048,
    vocabulary: int = 32000,
    seed: int = 0,
) -> onnx.ModelProto:
    """One step of generation by default; 125 million parameters.

    Inputs `input_ids` int64 (batch, sequence), and for each layer `past.I.key`, `past.I.value` float32
    (batch, kv_heads, past, head). Outputs `logits` (batch, sequence, vocabulary), and for each layer
    `present.I.key`, `present.I.value` (batch, kv_heads, past + sequence, head).
    """
    sizes = Sizes(hidden, heads, kv_heads, intermediate)
    graph = Graph("decoder", seed)
    graph.input("input_ids", (batch, sequence), TensorProto.INT64, span=(0, vocabulary))
    cache = (batch, kv_heads, past, sizes.head)
    pasts = [(graph.input(f"past.{i}.key", cache), graph.input(f"past.{i}.value", cache)) for i in range(layers)]
    known = isinstance(past, int) and isinstance(sequence, int)
    present = (batch, kv_heads, past + sequence if known else "total", sizes.head)
    tokens = shared_tokens(graph, pasts[0][0], sizes)
    x = graph.op("Gather", graph.normal("embedding", (vocabulary, hidden), 1.0), "input_ids")
    for layer, keys_and_values in enumerate(pasts):
        with graph.scope("layer", layer):
            normed = rms_norm(graph, x, hidden, "input_norm")
            y, key, value = attention(graph, normed, keys_and_values, tokens, sizes)
            x = graph.op("Add", x, y)
            x = graph.op("Add", x, feed_forward(graph, rms_norm(graph, x, hidden, "inner_norm"), sizes))
        graph.output(key, present, f"present.{layer}.key")
        graph.output(value, present, f"present.{layer}.value")
    x = rms_norm(graph, x, hidden, "norm")
    x = linear(graph, x, (hidden, vocabulary), bias=False, label="head")
    graph.output(x, (batch, sequence, vocabulary), "logits")
    return graph.model()


def build_prefill(batch: Dim = 1, sequence: Dim = "sequence", past: Dim = 0, **options: int) -> onnx.ModelProto:
    """`build` for the prompt: many tokens at once, and nothing before them."""
    return build(batch, sequence, past, **options)
