"""Rotary embeddings of the domain `com.microsoft`: pairs of numbers are rotated by angles that depend on positions.

Sines and cosines are tables with a row for each position. Each operator follows onnxruntime's documentation of
contributed operators.
"""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.attention import counted, dims_of, join_heads, parts_of, split_heads
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.dtype import INT64
from baton._src.values.tensor import AnyArray


def rotary_embedding(node: OnnxNode) -> Value:
    """input (batch, length, width) or (batch, heads, length, size), position_ids, cos_cache, sin_cache"""
    g, x, positions = node.graph, _by_heads(node), node.graph.cast(node[1], INT64)
    if positions.rank < 2:
        if node.attr("is_packed_batching", 0):
            node.fail("a packed batch needs a position for each of its tokens", help="give (batch, length) of them")
        length = dims_of(node, x, 4, "heads")[2]
        positions = g.call("add", g.reshape(positions, (1, 1)), counted(node, length, 1, length))
    found = rotated(node, x, positions, node[2], node[3], bool(node.attr("interleaved", 0)))
    return found if node[0].rank == 4 else join_heads(node, found)


def rotary_embedding_of_three(node: OnnxNode) -> Value:
    """`rotary_embedding` of tokens with three positions each, position_ids (3, batch, length): time, row, column.

    `mrope_section` gives the number of table columns for each of the three.
    """
    x, positions = _by_heads(node), node.graph.cast(node[1], INT64)
    dims_of(node, positions, 3, "position_ids")
    reader = _readers(node, _columns(node, node[2]))
    cos, sin = (_read_by(node, table, positions, reader) for table in (node[2], node[3]))
    found = _rotated_by(node, x, cos, sin, bool(node.attr("interleaved", 0)))
    return found if node[0].rank == 4 else join_heads(node, found)


def gemma_rotary_embedding(node: OnnxNode) -> list[Value]:
    """angles (batch, length, size), q, q with halves swapped, k, k with halves swapped -> q and k, rotated"""
    g, (q, q_other, k, k_other) = node.graph, (node[i] for i in range(1, 5))
    cos, sin = (g.call("expand_dims", g.cast(g.call(op, node[0]), q.dtype), axis=(1,)) for op in ("cos", "sin"))
    pairs = ((q, q_other), (k, k_other))
    return [g.call("add", g.call("multiply", a, cos), g.call("multiply", b, sin)) for a, b in pairs]


def rotated(node: OnnxNode, x: Value, positions: Value, cos: Value, sin: Value, interleaved: bool) -> Value:
    """`x` (batch, heads, length, size) with pairs of numbers rotated by the angles of their positions (batch or 1,
    length). Pairs are adjacent if `interleaved`, else taken from both halves of the rotated part, which may be only the
    front of `x`.
    """
    g = node.graph
    c, s = (
        g.call("expand_dims", g.call("take", table, positions, axis=0, mode="fast"), axis=(1,)) for table in (cos, sin)
    )
    return _rotated_by(node, x, c, s, interleaved)


def _rotated_by(node: OnnxNode, x: Value, cos: Value, sin: Value, interleaved: bool) -> Value:
    """`x` rotated by angles (batch or 1, 1, length, half of the size or fewer)."""
    g, half = node.graph, _columns(node, cos)
    batch, heads, length, size = dims_of(node, x, 4, "heads")
    if not isinstance(size, int):
        node.fail("the size of a head must be known", code="onnx-dynamic")
    front, rest = (x, None) if 2 * half == size else parts_of(node, x, (2 * half, size - 2 * half))
    if interleaved:
        pairs = g.reshape(front, (batch, heads, length, half, 2))
        a, b = (g.call("take", pairs, g.constant(i, "int64"), axis=4) for i in range(2))
    else:
        a, b = parts_of(node, front, (half, half))
    real = g.call("subtract", g.call("multiply", a, cos), g.call("multiply", b, sin))
    imaginary = g.call("add", g.call("multiply", a, sin), g.call("multiply", b, cos))
    if interleaved:
        found = g.reshape(g.call("stack", (real, imaginary), axis=4), (batch, heads, length, 2 * half))
    else:
        found = g.call("concat", (real, imaginary), axis=3)
    return found if rest is None else g.call("concat", (found, rest), axis=3)


def _by_heads(node: OnnxNode) -> Value:
    """The input as (batch, heads, length, size)."""
    if float(node.attr("scale", 1.0)) != 1.0:
        node.fail("a scale is not supported")
    x, heads = node[0], int(node.attr("num_heads", 0))
    if x.rank == 4:
        return x
    width, half = dims_of(node, x, 3, "input")[2], _columns(node, node[2])
    if not isinstance(width, int):
        node.fail("the size of a head must be known", code="onnx-dynamic")
    return split_heads(node, x, heads or width // (2 * half), "input")


def _columns(node: OnnxNode, table: Value) -> int:
    """The number of angles per position."""
    found = None if not table.shape else table.shape[-1]
    if not isinstance(found, int) or found < 1:
        node.fail("the number of angles of a position must be known", code="onnx-dynamic")
    return found


def _readers(node: OnnxNode, half: int) -> AnyArray:
    """[half]: which of a token's three positions each column belongs to: in three sections, or (`mrope_layout` 1)
    interleaved, where the first position gets the columns left over by the others.
    """
    sections, layout = node.ints("mrope_section") or (), int(node.attr("mrope_layout", 0))
    if len(sections) != 3 or min(sections) < 0 or sum(sections) != half:
        node.fail(f"its mrope_section {list(sections)} does not divide {half} columns into three", code="op-shape")
    if layout not in (0, 1):
        node.fail(f"its mrope_layout is {layout}", help="0 for sections, 1 for interleaved columns")
    if not layout:
        return np.repeat(np.arange(3), sections)
    column, turn = np.arange(half), np.arange(half) % 3
    return np.where(column < 3 * np.array(sections)[turn], turn, 0)


def _read_by(node: OnnxNode, table: Value, positions: Value, reader: AnyArray) -> Value:
    """(batch, 1, length, half): each column of the table row of the position it belongs to."""
    g = node.graph
    rows = [g.call("take", positions, g.constant(k, "int64"), axis=0) for k in range(3)]
    found = [g.call("take", table, row, axis=0, mode="fast") for row in rows]
    others = g.call("where", g.constant(reader == 1), found[1], found[2])
    return g.call("expand_dims", g.call("where", g.constant(reader == 0), found[0], others), axis=(1,))


CONTRIB_ROTARY: dict[str, Converter] = {
    "RotaryEmbedding": rotary_embedding, "MRotaryEmbedding": rotary_embedding_of_three,
    "GemmaRotaryEmbedding": gemma_rotary_embedding,
}  # fmt: skip
