"""BERT (Devlin et al., 2018), the base size by default, as an exporter such as PyTorch's would write it.

With sizes known, shapes are constants. Where batch or sequence is symbolic, shapes are computed in the graph
from `Shape`, `Gather` and `Concat`, positions are sliced and the mask is expanded at run time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import TensorProto

from bench.models.graph import Dim, Graph
from bench.models.layers import gelu, gemm, layer_norm, linear

MASKED = float(np.finfo(np.float32).min)


@dataclass(frozen=True, slots=True)
class Sizes:
    """What the layers need to know: the sizes, and whether the exporter knew batch and sequence."""

    batch: Dim
    sequence: Dim
    hidden: int
    heads: int

    @property
    def head(self) -> int:
        return self.hidden // self.heads

    @property
    def static(self) -> bool:
        return isinstance(self.batch, int) and isinstance(self.sequence, int)


def reshape(graph: Graph, x: str, like: str, sizes: Sizes, *tail: int) -> str:
    """`x` as (batch, sequence, *tail); at run time batch and sequence are read off `like`."""
    if sizes.static:
        return graph.op("Reshape", x, graph.integers([sizes.batch, sizes.sequence, *tail]))
    return graph.op("Reshape", x, graph.shape(graph.size(like, 0), graph.size(like, 1), *tail))


def embeddings(graph: Graph, sizes: Sizes, vocabulary: int, positions: int) -> str:
    """Word, type and position embeddings, added and normalised: (batch, sequence, hidden)."""
    hidden = sizes.hidden
    token_types = graph.normal("token_type", (2, hidden), 0.5)
    words = graph.op("Gather", graph.normal("word", (vocabulary, hidden), 0.5), "input_ids")
    x = graph.op("Add", words, graph.op("Gather", token_types, "token_type_ids"))
    ids = np.arange(positions, dtype=np.int64)[None]
    if sizes.static:
        where = graph.weight("position_ids", ids[:, : sizes.sequence])
    else:
        length = graph.size("input_ids", 1)
        everything = graph.weight("position_ids", ids)
        where = graph.op("Slice", everything, graph.integers([0]), length, graph.integers([1]), graph.integers([1]))
    x = graph.op("Add", x, graph.op("Gather", graph.normal("position", (positions, hidden), 0.5), where))
    return layer_norm(graph, x, hidden)


def attention_bias(graph: Graph, sizes: Sizes) -> str:
    """What is added to the scores: 0 where the mask is one, the lowest float where it is zero."""
    mask = graph.op("Unsqueeze", "attention_mask", graph.integers([1, 2]))
    one = graph.constant(1.0)
    if sizes.static:
        absent = graph.op("Sub", one, graph.op("Cast", mask, to=TensorProto.FLOAT))
        return graph.op("Mul", absent, graph.constant(MASKED))
    length = graph.size("attention_mask", 1)
    target = graph.shape(graph.size("attention_mask", 0), 1, length, length)
    expanded = graph.op("Cast", graph.op("Expand", mask, target), to=TensorProto.FLOAT)
    absent = graph.op("Sub", one, expanded)
    where = graph.op("Cast", absent, to=TensorProto.BOOL)
    return graph.op("Where", where, graph.constant(MASKED), absent)


def self_attention(graph: Graph, x: str, bias: str, sizes: Sizes) -> str:
    """Scaled dot-product attention over all heads, and the projection of what it gathers."""
    both = (sizes.hidden, sizes.hidden)

    def split(label: str, order: list[int]) -> str:
        with graph.scope(label):
            y = linear(graph, x, both)
            return graph.op("Transpose", reshape(graph, y, y, sizes, sizes.heads, sizes.head), perm=order)

    query, key, value = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
    scores = graph.op("Div", graph.op("MatMul", query, key), graph.constant(math.sqrt(sizes.head)))
    weights = graph.op("Softmax", graph.op("Add", scores, bias), axis=-1)
    gathered = graph.op("Transpose", graph.op("MatMul", weights, value), perm=[0, 2, 1, 3])
    return linear(graph, reshape(graph, gathered, gathered, sizes, sizes.hidden), both, label="output")


def block(graph: Graph, x: str, bias: str, sizes: Sizes, intermediate: int) -> str:
    """Attention, then two dense layers, each added to its input and normalised."""
    with graph.scope("attention"):
        x = layer_norm(graph, graph.op("Add", self_attention(graph, x, bias, sizes), x), sizes.hidden)
    with graph.scope("feed_forward"):
        y = gelu(graph, linear(graph, x, (sizes.hidden, intermediate), label="intermediate"))
        y = linear(graph, y, (intermediate, sizes.hidden), label="output")
        return layer_norm(graph, graph.op("Add", y, x), sizes.hidden)


def pooler(graph: Graph, x: str, hidden: int) -> str:
    """The first token through a dense layer and tanh: (batch, hidden)."""
    first = graph.op("Gather", x, graph.constant(0, np.int64), axis=1)
    return graph.op("Tanh", gemm(graph, first, (hidden, hidden)))


def build(
    batch: Dim = 1,
    sequence: Dim = 128,
    layers: int = 12,
    hidden: int = 768,
    heads: int = 12,
    intermediate: int | None = None,
    vocabulary: int = 30522,
    positions: int = 512,
    seed: int = 0,
) -> onnx.ModelProto:
    """Inputs `input_ids`, `attention_mask`, `token_type_ids`: int64 (batch, sequence).

    Outputs `last_hidden_state` (batch, sequence, hidden) and `pooler_output` (batch, hidden); 109 million
    parameters. `intermediate` is four times `hidden` unless given.
    """
    sizes = Sizes(batch, sequence, hidden, heads)
    graph = Graph("bert", seed)
    for name, high in (("input_ids", vocabulary), ("attention_mask", 2), ("token_type_ids", 2)):
        graph.input(name, (batch, sequence), TensorProto.INT64, span=(0, high))
    with graph.scope("embeddings"):
        x = embeddings(graph, sizes, vocabulary, positions)
    with graph.scope("mask"):
        bias = attention_bias(graph, sizes)
    for layer in range(layers):
        with graph.scope("encoder", layer):
            x = block(graph, x, bias, sizes, intermediate or 4 * hidden)
    graph.output(x, (batch, sequence, hidden), "last_hidden_state")
    with graph.scope("pooler"):
        graph.output(pooler(graph, x, hidden), (batch, hidden), "pooler_output")
    return graph.model()


def build_symbolic(batch: Dim = "batch", sequence: Dim = "sequence", **options: int) -> onnx.ModelProto:
    """`build` with sizes that are known only at run time."""
    return build(batch, sequence, **options)
