"""Gathers and scatters, and what finds places."""

from __future__ import annotations

import math

import numpy as np

from baton._src.frontends.graph_builder.graph import count_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node
from baton._src.values.dtype import INT32, INT64


def gather(node: Node) -> Value:
    batch = int(node.option("BatchDims", 0))
    batch += len(node.shape(1)) if batch < 0 else 0
    axis = node.axis(int(node.option("Axis", 0)))
    return node.moved(node.graph.call("take", node[0], node[1], axis=axis, batch_dims=batch, mode="fast"))


def embedding_lookup(node: Node) -> Value:
    """Operands are the places and the table; rows of quantised tables become real where the result is."""
    g, table = node.graph, node.quantised(1)
    rows = g.call("take", node[1], node[0], axis=0, mode="fast")
    if table is None or node.results[0].dtype.is_int:
        return node.moved(rows, 1)
    if table.scale.size > 1 and table.axis == 0:
        whole = g.cast(rows, "float32")
        zeros, scales = (
            g.call("take", g.constant(n.astype(np.float32).reshape(-1, 1)), node[0], axis=0, mode="fast")
            for n in (table.zero_point, table.scale)
        )
        return g.call("multiply", g.call("subtract", whole, zeros), scales)
    return g.call("take", node.real(1), node[0], axis=0, mode="fast")


def gather_nd(node: Node) -> Value:
    return node.moved(node.graph.call("gather_nd", node[0], node.graph.cast(node[1], INT64)))


def scatter_nd(node: Node) -> Value:
    """Add updates at their places to zeros of the shape in operand 2."""
    g, sizes = node.graph, node.numbers(2, "the shape")
    zeros = g.broadcast_to(g.constant(0, node[1].dtype), sizes)
    return node.moved(g.call("scatter_nd", zeros, g.cast(node[0], INT64), node[1], reduction="add"), 1)


def sparse_to_dense(node: Node) -> Value:
    """Operands are places, a shape, values and what is elsewhere."""
    g, sizes, places = node.graph, node.numbers(1, "the shape"), _places(node)
    dense = g.broadcast_to(node[3], sizes)
    count = places.known_shape()[0]
    values = g.broadcast_to(node[2], (count,)) if node[2].rank == 0 else node[2]
    return node.moved(g.call("scatter_nd", dense, places, values, reduction="update"), 2)


def _places(node: Node) -> Value:
    """Places as rows of coordinates; a scalar is one place, a vector places along one axis."""
    g, places = node.graph, node.graph.cast(node[0], INT64)
    if places.rank == 2:
        return places
    return g.reshape(places, (count_of(node.shape()), 1))


def one_hot(node: Node) -> Value:
    """Operands are places, the depth, and what is at the place and elsewhere."""
    g, (depth,) = node.graph, node.constants(1, "the depth")
    rank, axis = len(node.shape()), int(node.option("Axis", -1))
    axis = axis if axis >= 0 else rank + 1 + axis
    count = g.call("arange", start=0, stop=depth, step=1, dtype=INT64)
    along = g.reshape(count, [depth if place == axis else 1 for place in range(rank + 1)])
    shape = list(node.shape())
    shape.insert(axis, 1)
    hits = g.call("equal", g.cast(g.reshape(node[0], shape), INT64), along)
    return g.call("where", hits, node[2], node[3])


def where(node: Node) -> Value:
    """The places of true elements, as rows of coordinates."""
    return node.graph.cast(node.graph.call("argwhere", node[0]), node.results[0].dtype)


def update_slice(node: Node) -> Value:
    """Operand 0 with operand 1 written at the place in operand 2, moved so that it fits."""
    g, shape, part = node.graph, node.shape(), node.shape(1)
    known = [size for size in (*shape, *part) if isinstance(size, int)]
    if len(known) < len(shape) + len(part):
        node.fail("the sizes of its operands must be known")
    part = tuple(known[len(shape) :])
    limits = g.constant([whole - size for whole, size in zip(shape, part)], INT32)
    begin = g.call("maximum", g.call("minimum", g.cast(node[2], INT32), limits), g.constant(0, INT32))
    steps = [np.arange(size) for size in known[len(shape) :]]
    within = np.stack(np.meshgrid(*steps, indexing="ij"), -1).astype(np.int64)
    places = g.call("add", g.constant(within), g.cast(begin, INT64))
    return node.moved(g.call("scatter_nd", node[0], places, node[1], reduction="update"))


def matrix_diagonal(node: Node) -> Value:
    """Matrices whose diagonals are the rows of the operand."""
    g, shape = node.graph, node.shape()
    zeros = g.broadcast_to(g.constant(0, node[0].dtype), (*shape, shape[-1]))
    return node.moved(g.call("matrix_set_diag", zeros, node[0]))


def set_diagonal(node: Node) -> Value:
    return node.moved(node.graph.call("matrix_set_diag", node[0], node[1]))


def segment_sum(node: Node) -> Value:
    """Sums of the rows with equal numbers, which ascend."""
    segments = node.optional(1)
    if segments is None or segments.array is None:
        node.fail("the numbers of the segments must be constant")
    return _by_segment(node, int(segments.array.max(initial=-1)) + 1, "add", 0.0)


def unsorted_segment(reduction: str, start: float) -> Converter:
    """The rows with equal numbers combined; operand 2 is how many results there are."""

    def convert(node: Node) -> Value:
        (count,) = node.constants(2, "the number of segments")
        return _by_segment(node, count, reduction, start)

    return convert


def _by_segment(node: Node, count: int, reduction: str, start: float) -> Value:
    g, x, shape, kept = node.graph, node[0], node.shape(), len(node.shape(1))
    if x.dtype.is_int and math.isinf(start):
        low, high = x.dtype.int_range
        start = low if start < 0 else high
    elif math.isinf(start):
        start = math.copysign(float(np.finfo(x.dtype.numpy).max), start)
    began = g.broadcast_to(g.constant(start, x.dtype), (count, *shape[kept:]))
    segments = g.cast(node[1], INT64)
    places = g.reshape(segments, (*node.shape(1), 1))
    return g.call("scatter_nd", began, places, x, reduction=reduction)


def bucketize(node: Node) -> Value:
    """How many of the option's ascending boundaries are at most x."""
    g, x = node.graph, node[0]
    boundaries = node.option("Boundaries", ())
    total = g.broadcast_to(g.constant(0, INT32), node.shape())
    for boundary in boundaries:
        total = g.call("add", total, g.cast(g.call("greater_equal", x, g.scalar(boundary, x)), INT32))
    return total


INDEXING: dict[str, Converter] = {
    "GATHER": gather, "GATHER_ND": gather_nd, "EMBEDDING_LOOKUP": embedding_lookup, "SCATTER_ND": scatter_nd,
    "SPARSE_TO_DENSE": sparse_to_dense, "ONE_HOT": one_hot, "WHERE": where, "DYNAMIC_UPDATE_SLICE": update_slice,
    "MATRIX_DIAG": matrix_diagonal, "MATRIX_SET_DIAG": set_diagonal, "SEGMENT_SUM": segment_sum,
    "UNSORTED_SEGMENT_SUM": unsorted_segment("add", 0.0), "UNSORTED_SEGMENT_PROD": unsorted_segment("mul", 1.0),
    "UNSORTED_SEGMENT_MAX": unsorted_segment("max", -math.inf),
    "UNSORTED_SEGMENT_MIN": unsorted_segment("min", math.inf), "BUCKETIZE": bucketize,
}  # fmt: skip
