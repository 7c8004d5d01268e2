"""Gathering, scattering, selecting."""

from __future__ import annotations

from baton._src.frontends.graph_builder.indices import from_front
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import WITHOUT_STRINGS
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64
from baton._src.values.meaning import PLAIN


def from_the_front(node: OnnxNode, indices: Value, data: Value, axis: int) -> Value:
    """Indices counted from the end made to count from the front; constants that do not need it stay."""
    if indices.array is not None and (indices.array >= 0).all():
        return indices
    if data.shape is None:
        node.fail("the size of the axis must be known for computed indices", code="onnx-dynamic")
    return from_front(node.graph, indices, data.shape[axis])


def gather(node: OnnxNode) -> Value:
    axis = node.axis(0)
    return node.graph.call("take", node[0], from_the_front(node, node[1], node[0], axis), axis=axis, mode="fast")


def gather_elements(node: OnnxNode) -> Value:
    axis = node.axis(0)
    return node.graph.call("gather_elements", node[0], node[1], axis=axis)


def gather_nd(node: OnnxNode) -> Value:
    return node.graph.call("gather_nd", node[0], node[1], batch_dims=int(node.attr("batch_dims", 0)))


def scatter_elements(node: OnnxNode) -> Value:
    return node.graph.call("scatter_elements", node[0], node[1], node[2], axis=node.axis(0), reduction=_reduction(node))


def scatter_nd(node: OnnxNode) -> Value:
    return node.graph.call("scatter_nd", node[0], node[1], node[2], reduction=_reduction(node))


def _reduction(node: OnnxNode) -> str:
    """How an update meets the element that is there; strings, which are numbered, can only be replaced."""
    given = str(node.attr("reduction", "none"))
    if given == "none":
        return "update"
    if node[0].meaning is not PLAIN:
        node.fail(f"its reduction {given!r} of strings is not supported", code="onnx-dtype", help=WITHOUT_STRINGS)
    return given


def where(node: OnnxNode) -> Value:
    return node.graph.call("where", node[0], node[1], node[2])


def one_hot(node: OnnxNode) -> Value:
    g, indices, values = node.graph, node[0], node[2]
    known = node[1].array
    depth: Dim = int(known.reshape(-1)[0]) if known is not None else node.size(1, "the depth")
    if not indices.dtype.is_int or indices.dtype.bits < 32:  # narrow integers may not hold the depth
        indices = g.cast(indices, INT64)
    wrapped = g.call("add", indices, g.dims(depth, indices.dtype))
    indices = g.call("where", g.call("less", indices, g.scalar(0, indices)), wrapped, indices)
    off = g.reshape(g.call("take", values, g.constant(0, "int64"), axis=0), ())
    on = g.reshape(g.call("take", values, g.constant(1, "int64"), axis=0), ())
    if isinstance(depth, int):
        return g.call("one_hot", indices, on, off, depth=depth, axis=int(node.attr("axis", -1)))
    axis = int(node.attr("axis", -1)) % (indices.rank + 1)
    places = g.cast(g.call("arange", start=0, stop=depth, step=1, dtype=INT64), indices.dtype)
    row = g.reshape(places, (depth, *[1] * (indices.rank - axis)))
    return g.call("where", g.call("equal", g.call("expand_dims", indices, axis=(axis,)), row), on, off)


def non_zero(node: OnnxNode) -> Value:
    """(axes, found): of a scalar, which has no axes, nothing is left but whether it is one."""
    g, found = node.graph, node.graph.cast(node.graph.call("nonzero", node[0]), "int64")
    return found if node[0].rank else g.call("strided_slice", found, axes=(0,), begin=(0,), end=(0,), strides=(1,))


def reverse_sequence(node: OnnxNode) -> Value:
    time, batch = int(node.attr("time_axis", 0)), int(node.attr("batch_axis", 1))
    lengths = node.graph.cast(node[1], INT64)
    return node.graph.call("reverse_sequence", node[0], lengths, seq_axis=time, batch_axis=batch)


def compress(node: OnnxNode) -> Value:
    """The slices (elements, without an axis) whose condition holds; how many is known at run time."""
    g, x, axis = node.graph, node[0], node.attr("axis")
    places = g.call("squeeze", g.call("nonzero", node[1]), axis=(0,))
    if axis is None:
        x, axis = g.reshape(x, (-1,)), 0
    rank = x.rank
    return g.call("take", x, places, axis=node.place(int(axis), rank), mode="fast")


def unique(node: OnnxNode) -> list[Value]:
    """(values, first places, place of each element's value, counts)"""
    g, x, axis = node.graph, node[0], node.attr("axis")
    if g.language.name == "relay" and axis is None:
        return _unique_in_relay(node)
    options: dict[str, bool | int] = {
        "sorted": bool(node.attr("sorted", 1)),
        "return_index": True,
        "return_inverse": True,
    }
    if axis is not None:
        options["axis"] = int(axis)
    found = g.call_many("unique", x, return_counts=True, **options)
    return [found[0], *(g.cast(v, "int64") for v in found[1:])]


def _unique_in_relay(node: OnnxNode) -> list[Value]:
    """Relay's operator pads its results to the length of the operand, and says how much of them counts."""
    g, flat = node.graph, node.graph.reshape(node[0], (-1,))
    if flat.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    found = g.call_many("relay_unique", flat, sorted=bool(node.attr("sorted", 1)), return_counts=True)
    values, first, inverse, total, counts = found
    places = g.call("arange", start=0, stop=flat.shape[0], step=1, dtype=INT64)
    used = g.call("squeeze", g.call("nonzero", g.call("less", places, g.cast(total, INT64))), axis=(0,))
    values, first, counts = (g.call("take", v, used, axis=0, mode="fast") for v in (values, first, counts))
    return [values, *(g.cast(v, INT64) for v in (first, inverse, counts))]


def tensor_scatter(node: OnnxNode) -> Value:
    """The cache with `update` written along an axis from each row's own index on (`circular`: around the end)."""
    g, cache, update = node.graph, node[0], node[1]
    axis = node.axis(-2)
    if cache.shape is None or update.shape is None:
        node.fail("the shapes must be known", code="onnx-dynamic")
    length, count, rank = cache.shape[axis], update.shape[axis], len(cache.shape)
    if isinstance(count, int) and count == 0:
        return cache
    start = node.optional(2) or g.broadcast_to(g.constant(0, "int64"), (cache.shape[0],))
    column = [-1 if a == axis else 1 for a in range(rank)]
    places = g.reshape(g.call("arange", start=0, stop=length, step=1, dtype=INT64), column)
    offset = g.call("subtract", places, g.cast(g.reshape(start, (-1,) + (1,) * (rank - 1)), "int64"))
    if str(node.attr("mode", "linear")) == "circular":
        offset = g.call("floor_mod", offset, g.dims(length))
    low, high = g.scalar(0, offset), g.dims(count)
    written = g.call("logical_and", g.call("greater_equal", offset, low), g.call("less", offset, high))
    source = g.call("minimum", g.call("maximum", offset, low), g.call("subtract", high, g.scalar(1, high)))
    rows = g.call("gather_elements", update, g.broadcast_to(source, cache.shape), axis=axis)
    return g.call("where", written, rows, cache)


INDEX: dict[str, Converter] = {
    "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd, "Scatter": scatter_elements,
    "ScatterElements": scatter_elements, "ScatterND": scatter_nd, "Where": where, "OneHot": one_hot,
    "NonZero": non_zero, "ReverseSequence": reverse_sequence, "Compress": compress, "Unique": unique,
    "TensorScatter": tensor_scatter,
}  # fmt: skip
