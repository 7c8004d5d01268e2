"""Operators whose result sizes depend on elements: counts and unique values."""

from __future__ import annotations

from baton._src.frontends.graph_builder.graph import count_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.indexing import nonzero
from baton._src.frontends.torch.operators.shape import cut

_BEYOND = 1 << 40
"""No tensor has so many elements."""


def bincount(node: AtenNode, x: Value, weights: Value | None = None, minlength: int = 0) -> Value:
    """How often each number from 0 to the greatest occurs, or the sums of the weights there."""
    g, places = node.graph, node.graph.cast(x, "int64")
    at_least = g.constant([int(node.known(minlength, "minlength")) - 1], "int64")
    greatest = g.call("max", g.call("concat", (places, at_least), axis=0), axis=(0,), keepdims=False)
    found = g.numbers(g.call("add", greatest, g.constant(1, "int64")))
    if found is None:
        node.fail("how many numbers there are is known only at run time", code="torch-dynamic")
    count = found.reshape(-1)[0]  # what is known beforehand has no axis
    given = g.constant(1, node.dtype) if weights is None else g.cast(weights, node.dtype)
    places = g.call("where", g.call("less", places, g.scalar(0, places)), g.scalar(_BEYOND, places), places)
    zeros = g.broadcast_to(g.constant(0, node.dtype), (count,))
    return g.call(
        "scatter_elements", zeros, places, g.broadcast_to(given, node.sizes(x)), axis=0, reduction="add"
    )  # fmt: skip


def unique(
    node: AtenNode, x: Value, is_sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Value, Value | None, Value | None]:
    """(what there is, in order; where each element is there; how often each is there)"""
    g = node.graph
    flat = g.reshape(x, (-1,)) if x.rank != 1 else x
    narrow = g.cast(flat, "int8") if x.dtype.is_bool else flat
    order = g.call("argsort", narrow, axis=0, descending=False, dtype="int64")
    values, turns, counts = _runs(node, g.call("take", flat, order, axis=0, mode="fast"))
    inverse = None
    if 1 in node.used:
        zeros = g.broadcast_to(g.constant(0, "int64"), node.sizes(flat))
        inverse = g.call("scatter_elements", zeros, order, turns, axis=0, reduction="update")
        inverse = g.reshape(inverse, node.sizes(x)) if return_inverse else None
    return values, inverse, counts if return_counts else None


def unique_along(
    node: AtenNode, x: Value, dim: int, is_sorted: bool, return_inverse: bool, return_counts: bool
) -> tuple[Value, Value | None, Value | None]:
    """`unique` of slices: (those there are, ordered by their first elements that differ; which is where; counts)"""
    g, rows = node.graph, _slices(node, x, dim)
    order = _order_of_rows(node, g.cast(rows, "int8") if x.dtype.is_bool else rows)
    values, turns, counts = _runs(node, g.call("take", rows, order, axis=0, mode="fast"))
    inverse = None
    if return_inverse:
        zeros = g.broadcast_to(g.constant(0, "int64"), node.sizes(order))
        inverse = g.call("scatter_elements", zeros, order, turns, axis=0, reduction="update")
    return _unsliced(node, values, x, dim), inverse, counts if return_counts else None


def unique_consecutive(
    node: AtenNode, x: Value, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Value, Value | None, Value | None]:
    """(elements that differ from the one before, which of them each element is, how many are equal in a row)

    With `dim`, of slices.
    """
    if dim is not None:
        _check_axis(node, x, dim)
    if dim is not None and x.rank != 1:
        return slices_in_a_row(node, x, dim, return_inverse, return_counts)
    values, turns, counts = _runs(node, node.graph.reshape(x, (-1,)) if x.rank != 1 else x)
    inverse = node.graph.reshape(turns, node.sizes(x)) if return_inverse else None
    return values, inverse, counts if return_counts else None


def slices_in_a_row(
    node: AtenNode, x: Value, dim: int, return_inverse: bool, return_counts: bool
) -> tuple[Value, Value | None, Value | None]:
    values, turns, counts = _runs(node, _slices(node, x, dim))
    return _unsliced(node, values, x, dim), turns if return_inverse else None, counts if return_counts else None


def _check_axis(node: AtenNode, x: Value, dim: int) -> None:
    if dim < 0 and x.rank > 0:
        node.fail(f"PyTorch's exporter gives another shape for dim={dim}", help=f"say dim={dim + x.rank}")


def _slices(node: AtenNode, x: Value, dim: int) -> Value:
    """The slices along an axis as rows of a matrix."""
    _check_axis(node, x, dim)
    sizes, rest = node.sizes(x), [a for a in range(x.rank) if a != dim]
    count = node.known(count_of([sizes[a] for a in rest]), "how many elements a slice has")
    return node.graph.reshape(node.graph.transpose(x, (dim, *rest)), (sizes[dim], count))


def _unsliced(node: AtenNode, rows: Value, x: Value, dim: int) -> Value:
    """The inverse of `_slices`, for some of the rows."""
    rest = [size for a, size in enumerate(node.sizes(x)) if a != dim]
    found = node.graph.reshape(rows, (node.sizes(rows)[0], *rest))
    return node.graph.transpose(found, (*range(1, dim + 1), 0, *range(dim + 1, x.rank)))


def _order_of_rows(node: AtenNode, rows: Value) -> Value:
    """Where rows are in order: sorting keeps the order of equal ones, so that the first column comes last."""
    g, (size, columns) = node.graph, node.sizes(rows)
    order = g.call("arange", start=0, stop=size, step=1, dtype="int64")
    for column in reversed(range(node.known(columns, "how many elements a slice has"))):
        keys = g.call("take", g.call("take", rows, g.constant(column, "int64"), axis=1), order, axis=0, mode="fast")
        places = g.call("argsort", keys, axis=0, descending=False, dtype="int64")
        order = g.call("take", order, places, axis=0, mode="fast")
    return order


def _runs(node: AtenNode, row: Value) -> tuple[Value, Value, Value]:
    """(the first of every run of equal elements or rows, the number of its run for each one, how long runs are)"""
    g, size = node.graph, node.sizes(row)[0]
    differs = g.call("not_equal", cut(node, row, 0, 1, size), cut(node, row, 0, 0, size - 1))
    if row.rank > 1:
        differs = g.call("any", differs, axis=(1,), keepdims=False)
    starts = g.call("concat", (g.constant([True]), differs), axis=0)
    starts = g.of_shape(cut(node, starts, 0, 0, size), (size,))
    turns = g.call("subtract", g.call("cumsum", g.cast(starts, "int64"), axis=0), g.constant(1, "int64"))
    places = nonzero(node, starts)
    count = node.sizes(places)[0]
    places = g.reshape(places, (count,))
    bounds = g.call("concat", (places, g.reshape(g.dims(size), (1,))), axis=0)
    lengths = g.call("subtract", cut(node, bounds, 0, 1, count + 1), cut(node, bounds, 0, 0, count))
    return g.call("take", row, places, axis=0, mode="fast"), turns, g.of_shape(lengths, (count,))


COUNTING: dict[str, Converter] = {
    "aten.bincount.default": bincount, "aten._unique2.default": unique,
    "aten.unique_consecutive.default": unique_consecutive, "aten.unique_dim.default": unique_along,
    "aten.unique_dim_consecutive.default": slices_in_a_row,
}  # fmt: skip
