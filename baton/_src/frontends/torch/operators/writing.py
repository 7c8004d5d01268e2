"""Tensors with a part replaced: the functional form of writes into views and by indices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.graph import count_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar
from baton._src.frontends.torch.operators.indexing import (
    at_least_a_row,
    is_empty,
    joined,
    leading,
    of_one,
    without_masks,
)
from baton._src.frontends.torch.operators.shape import END, corner, cut, unsqueeze
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import DataType


def copy(node: AtenNode, x: Value, source: Value, *_: bool) -> Value:
    """The source in the shape and dtype of what it replaces."""
    return node.graph.broadcast_to(node.graph.cast(source, x.dtype), node.sizes(x))


def slice_scatter(
    node: AtenNode, x: Value, source: Value, dim: int, start: Dim | None, end: Dim | None, step: Dim
) -> Value:
    g, axis = node.graph, node.axis(dim, x.rank)
    size = node.sizes(x)[axis]
    begin = corner(0 if start is None else start, size)
    stop = corner(END if end is None else end, size)
    if isinstance(begin, int) and isinstance(stop, int):
        stop = max(begin, stop)
    stride = node.known(step, "the step")
    part = g.cast(source, x.dtype)
    if stride == 1:
        pieces = [cut(node, x, axis, 0, begin), part, cut(node, x, axis, stop, size)]
        kept = [p for p in pieces if node.sizes(p)[axis] != 0]
        return (kept or [x])[0] if len(kept) < 2 else g.call("concat", tuple(kept), axis=axis)
    places = g.broadcast_to(_steps(node, begin, stop, stride, x.rank, axis), node.sizes(part))
    return g.call("scatter_elements", x, places, part, axis=axis, reduction="update")


def _steps(node: AtenNode, begin: Dim, stop: Dim, stride: int, rank: int, axis: int) -> Value:
    """Every `stride`-th place along an axis, the other axes of length 1."""
    g, shape = node.graph, [1] * rank
    shape[axis] = -1
    if isinstance(begin, int) and isinstance(stop, int):
        return g.constant(np.arange(begin, stop, stride).reshape(shape), "int64")
    return g.reshape(g.call("arange", start=begin, stop=stop, step=stride, dtype="int64"), shape)


def select_scatter(node: AtenNode, x: Value, source: Value, dim: int, index: Dim) -> Value:
    axis = node.axis(dim, x.rank)
    start = corner(index, node.sizes(x)[axis])
    return slice_scatter(node, x, unsqueeze(node, source, axis), axis, start, start + 1, 1)


def index_put(
    node: AtenNode, x: Value, indices: Sequence[Value | None], values: Value, accumulate: bool, *_: bool
) -> Value:
    """x[indices] = values. A mask alone chooses between x and one number; others are joined to one, as in `index`."""
    g = node.graph
    first = indices[0]
    if len(indices) == 1 and first is not None and first.dtype.is_bool and not values.rank and not accumulate:
        mask = g.reshape(first, (*node.sizes(first), *[1] * (x.rank - first.rank)))
        return g.call("where", mask, g.cast(values, x.dtype), x)
    indices = without_masks(node, x, indices)
    axes = [a for a, i in enumerate(indices) if i is not None]
    rest = [a for a in range(x.rank) if a not in axes]
    order, sizes = (*axes, *rest), node.sizes(x)
    given = [g.cast(i, "int64") for i in indices if i is not None]
    place = given[0] if len(given) == 1 else joined(node, given, x, axes)
    kept = tuple(sizes[a] for a in rest)
    flat = g.reshape(g.transpose(x, order), (count_of([sizes[a] for a in axes]), *kept))
    updates = _indices_first(node, g.cast(values, x.dtype), axes, node.sizes(place), kept)
    column = unsqueeze(node, place, place.rank)
    found = g.call("scatter_nd", flat, column, updates, reduction="add" if accumulate else "update")
    whole = g.reshape(found, tuple(sizes[a] for a in order))
    return g.transpose(whole, tuple(order.index(a) for a in range(x.rank)))


def masked_scatter(node: AtenNode, x: Value, mask: Value, source: Value) -> Value:
    """Where the mask says so, the elements of `source` one after another, of which there must be enough."""
    g, shape = node.graph, node.common_shape(x, mask)
    flat, seen = (g.reshape(g.broadcast_to(v, shape), (-1,)) for v in (x, mask))
    places = without_masks(node, flat, [seen])
    assert places[0] is not None
    (count,) = node.sizes(places[0])
    part = g.of_shape(cut(node, g.reshape(source, (-1,)), 0, 0, count), (count,))
    return g.reshape(index_put(node, flat, places, part, False), shape)


def _indices_first(
    node: AtenNode, values: Value, axes: Sequence[int], indexed: Sequence[Dim], kept: Sequence[Dim]
) -> Value:
    """What is written to `x[:, i, j]`, broadcast, with the axes of the indices before those that are kept.

    It is given with those of indices side by side in their place, and else at the front.
    """
    g, rank = node.graph, len(indexed)
    before = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0
    shape = (*kept[:before], *indexed, *kept[before:])
    order = (*range(before, before + rank), *range(before), *range(before + rank, len(shape)))
    return g.transpose(g.broadcast_to(values, shape), order)


def _rows(node: AtenNode, x: Value, axis: int, index: Value, like: Value) -> Value:
    """Indices along an axis in the shape of what is written there."""
    g, shape = node.graph, [1] * x.rank
    shape[axis] = -1
    return g.broadcast_to(g.reshape(g.cast(index, "int64"), shape), node.sizes(like))


def index_copy(node: AtenNode, x: Value, dim: int, index: Value, source: Value) -> Value:
    if not x.rank:
        return of_one(node, index_copy, x, dim, index, source)
    axis = node.axis(dim, x.rank)
    source = at_least_a_row(node, source)
    places = _rows(node, x, axis, index, source)
    return node.graph.call("scatter_elements", x, places, source, axis=axis, reduction="update")


def index_add(node: AtenNode, x: Value, dim: int, index: Value, source: Value, *, alpha: Scalar = 1) -> Value:
    if not x.rank:
        return of_one(node, index_add, x, dim, index, at_least_a_row(node, source), alpha=alpha)
    g, axis = node.graph, node.axis(dim, x.rank)
    scaled = g.cast(source, x.dtype)
    if not isinstance(alpha, int) or alpha != 1:
        scaled = g.call("multiply", scaled, node.tensor(alpha, x.dtype))
    return g.call("scatter_elements", x, _rows(node, x, axis, index, source), scaled, axis=axis, reduction="add")


def index_fill(node: AtenNode, x: Value, dim: int, index: Value, value: Value | Scalar) -> Value:
    if not x.rank:
        return of_one(node, index_fill, x, dim, index, value)
    g, axis = node.graph, node.axis(dim, x.rank)
    shape = list(node.sizes(x))
    shape[axis] = node.sizes(index)[0] if index.rank else 1
    updates = g.broadcast_to(node.tensor(value, x.dtype), shape)
    places = _rows(node, x, axis, g.reshape(index, (-1,)), updates)
    return g.call("scatter_elements", x, places, updates, axis=axis, reduction="update")


def scatter_reduce(
    node: AtenNode, x: Value, dim: int, index: Value, source: Value, reduce: str, *, include_self: bool
) -> Value:
    """What is there counts as one more element, unless it is left out (where something is written)."""
    if not x.rank:
        return of_one(node, scatter_reduce, x, dim, index, source, reduce, include_self=include_self)
    g, axis = node.graph, node.axis(dim, x.rank)
    if is_empty(node, index):
        return x
    index, source = at_least_a_row(node, index), at_least_a_row(node, source)
    updates = leading(node, source, index)
    if not include_self:
        start = g.broadcast_to(g.constant(_neutral(reduce, x.dtype), x.dtype), node.sizes(updates))
        x = g.call("scatter_elements", x, index, start, axis=axis, reduction="update")
    found = g.call("scatter_elements", x, index, updates, axis=axis, reduction=_REDUCTIONS[reduce])
    if reduce != "mean":
        return found
    each = g.broadcast_to(g.constant(1, x.dtype), node.sizes(updates))
    start = g.broadcast_to(g.constant(int(include_self), x.dtype), node.sizes(x))
    counts = g.call("scatter_elements", start, index, each, axis=axis, reduction="add")
    several = g.call("maximum", counts, g.constant(1, x.dtype))
    return g.call("divide" if x.dtype.is_float else "floor_divide", found, several)


_REDUCTIONS = {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}


def _neutral(reduce: str, dtype: DataType) -> float:
    """The number that changes no result of a reduction."""
    if reduce in ("sum", "mean", "prod"):
        return int(reduce == "prod")
    if dtype.is_float:
        return -np.inf if reduce == "amax" else np.inf
    if dtype.is_bool:
        return reduce == "amin"
    bounds = np.iinfo(dtype.numpy)
    return int(bounds.min if reduce == "amax" else bounds.max)


WRITING: dict[str, Converter] = {
    "aten.copy.default": copy, "aten.slice_scatter.default": slice_scatter,
    "aten.select_scatter.default": select_scatter, "aten.index_put.default": index_put,
    "aten._unsafe_index_put.default": index_put, "aten.masked_scatter.default": masked_scatter,
    "aten.index_copy.default": index_copy,
    "aten.index_add.default": index_add, "aten.index_fill.int_Scalar": index_fill,
    "aten.index_fill.int_Tensor": index_fill, "aten.scatter_reduce.two": scatter_reduce,
}  # fmt: skip
