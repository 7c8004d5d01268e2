"""Caches of keys and values (the past): where new ones are stored, and which of them a query attends to.

A buffer (batch, heads, room, size) has space for more keys than it holds. Their number, `before` (batch, 1), is known
only at run time; the rest of the buffer is undefined, and is masked instead of sliced off, because sizes must not
depend on data.
"""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.attention import counted, dims_of, kept_or
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64


def filled(node: OnnxNode, past: Value, new: Value, before: Value, longest: Dim) -> Value:
    """The past of each row with `new` (batch, heads, m, size) stored after the `before` keys in it; its length is
    `longest`.
    """
    g = node.graph
    batch, _, m, _ = dims_of(node, new, 4, "keys")
    room = dims_of(node, past, 4, "past")[2]
    columns = counted(node, longest, 1, longest)
    places = g.call("subtract", columns, before)
    new_ones = g.call("logical_and", g.call("greater_equal", places, _zero(node)), g.call("less", places, g.dims(m)))
    last = g.call("maximum", g.dims(room - 1), _zero(node))
    source = g.call("where", new_ones, g.call("add", places, g.dims(room)), g.call("minimum", columns, last))
    keys = g.call("concat", (past, new), axis=2)
    if batch == 1:
        return g.call("take", keys, g.reshape(source, (longest,)), axis=2, mode="fast")
    found = g.call("gather_nd", g.transpose(keys, (0, 2, 1, 3)), g.reshape(source, (batch, longest, 1)), batch_dims=1)
    return g.transpose(found, (0, 2, 1, 3))


def with_room(node: OnnxNode, before: Value, m: Dim, room: Dim) -> Value:
    """`before`, looked up among the positions of a buffer after which m keys fit, so that any other fails at run
    time.
    """
    g = node.graph
    return g.call("take", counted(node, room - m + 1, room - m + 1), before, axis=0, mode="fast")


def visible(node: OnnxNode, before: Value, m: Dim, n: Dim, like: Value, *, causal: bool, window: int = -1) -> Value:
    """The bias that hides from m new queries, which follow `before` keys, the keys after them (all new keys are visible
    unless `causal`), and keys more than a window before them.
    """
    g = node.graph
    keys = counted(node, n, 1, 1, n)
    last = g.call("expand_dims", g.call("add", before, counted(node, m, 1, m)), axis=(2,))
    if causal:
        kept = g.call("less_equal", keys, last)
    else:
        kept = g.call("less", keys, g.call("expand_dims", g.call("add", before, g.dims(m)), axis=(2,)))
    if window >= 0:
        inside = g.call("greater", keys, g.call("subtract", last, g.constant(window, INT64)))
        kept = g.call("logical_and", kept, inside)
    return kept_or(node, g.call("expand_dims", kept, axis=(1,)), -like.dtype.largest_float, like)


def widened(node: OnnxNode, x: Value | None, total: Value, n: Dim) -> Value | None:
    """Extend values given for each of `total` keys (the last axis) to all n keys of a buffer: the others are hidden,
    and take the first key's value. A last axis shorter than the total fails at run time.
    """
    if x is None or (x.shape is not None and node.graph.prover.equal(x.shape[-1], n)):
        return x
    g, columns = node.graph, counted(node, n, n)
    places = g.call("where", g.call("less", columns, g.reshape(total, ())), columns, _zero(node))
    return g.call("take", x, places, axis=x.rank - 1, mode="fast")


def of_beams(node: OnnxNode, kept: Value, beams: Value, before: Value) -> Value:
    """`kept` (rows, heads, room, size) as each beam of a search sees it: key k of beam j of sentence i is that of beam
    `beams[i, j, k]`; the new keys, after `before`, are its own.
    """
    g = node.graph
    rows, heads, room, size = dims_of(node, kept, 4, "keys")
    sentences, width, _ = dims_of(node, beams, 3, "cache_indirection")
    beams = g.of_shape(g.cast(beams, INT64), (sentences, width, room))
    first = g.call("multiply", counted(node, sentences, sentences, 1, 1), g.dims(width))
    chosen = g.reshape(g.call("add", beams, first), (rows, room))
    old = g.call("less", counted(node, room, 1, room), before)
    source = g.call("where", old, chosen, counted(node, rows, rows, 1))
    index = g.broadcast_to(g.reshape(source, (rows, 1, room, 1)), (rows, heads, room, size))
    return g.call("gather_elements", kept, index, axis=0)


def _zero(node: OnnxNode) -> Value:
    return node.graph.constant(0, INT64)
