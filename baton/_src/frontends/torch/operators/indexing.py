"""Gathering and scattering by index tensors. Negative indices are normalised to count from the front."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.graph import count_of
from baton._src.frontends.graph_builder.indices import from_front
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar
from baton._src.frontends.torch.operators.shape import cut
from baton._src.ir.tensor_info import Dim
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min


def joined(node: AtenNode, indices: Sequence[Value], x: Value, axes: Sequence[int]) -> Value:
    """Indices (int64) into several axes as one into all of them, flattened. One that is outside of its axis makes the
    whole outside: nobody takes it for another element's."""
    if len(indices) == 1:
        return from_front(node.graph, indices[0], node.sizes(x)[axes[0]])
    g, sizes, places = node.graph, node.sizes(x), list[Value]()
    for index, axis in zip(indices, axes, strict=True):
        size, zero = g.dims(sizes[axis], index.dtype), g.scalar(0, index)
        place = from_front(node.graph, index, node.sizes(x)[axis])
        inside = g.call("logical_and", g.call("greater_equal", place, zero), g.call("less", place, size))
        places.append(g.call("where", inside, place, g.scalar(_BEYOND, index)))
    place = places[0]
    for axis, more in zip(axes[1:], places[1:], strict=True):
        place = g.call("add", g.call("multiply", place, g.dims(sizes[axis])), more)
    return place


_BEYOND = 1 << 40
"""No tensor has so many elements, and a product with the size of an axis still fits into an index."""


def index_select(node: AtenNode, x: Value, dim: int, indices: Value) -> Value:
    if not x.rank:
        return node.graph.reshape(index_select(node, node.graph.reshape(x, (1,)), 0, indices), ())
    axis = node.axis(dim, x.rank)
    flat = node.graph.reshape(indices, (-1,))
    return node.graph.call("take", x, from_front(node.graph, flat, node.sizes(x)[axis]), axis=axis, mode="fast")


def gather(node: AtenNode, x: Value, dim: int, indices: Value, *, sparse_grad: bool = False) -> Value:
    """The axes of the indices may be shorter than those of the tensor; what lies beyond is not looked at."""
    if not x.rank:
        return node.graph.broadcast_to(x, node.sizes(indices))
    if not indices.rank:
        return node.graph.reshape(gather(node, x, dim, node.graph.reshape(indices, (1,))), ())
    if is_empty(node, indices):
        return node.graph.broadcast_to(node.tensor(0, x.dtype), node.sizes(indices))
    axis = node.axis(dim, x.rank)
    for other, (own, wanted) in enumerate(zip(node.sizes(x), node.sizes(indices), strict=True)):
        if other != axis and not node.graph.prover.equal(own, wanted):
            x = node.graph.call("strided_slice", x, axes=(other,), begin=(0,), end=(wanted,), strides=(1,))
    return node.graph.call("gather_elements", x, indices, axis=axis)


def is_empty(node: AtenNode, indices: Value) -> bool:
    """Whether there are no indices, which may have another rank than the tensor then."""
    return any(isinstance(d, int) and d == 0 for d in node.sizes(indices))


def scatter(reduction: str) -> Converter:
    """Elements of `source` (or one number) written to places along an axis."""

    def convert(
        node: AtenNode, x: Value, dim: int, indices: Value, source: Value | Scalar, *, reduce: str | None = None
    ) -> Value:
        if not x.rank:
            return of_one(node, convert, x, dim, indices, source, reduce=reduce)
        if is_empty(node, indices):
            return x
        g, axis = node.graph, node.axis(dim, x.rank)
        indices = at_least_a_row(node, indices)
        source = at_least_a_row(node, source) if isinstance(source, Value) else source
        if isinstance(source, Value):
            updates = leading(node, g.cast(source, x.dtype), indices)
        else:
            updates = g.broadcast_to(node.tensor(source, x.dtype), node.sizes(indices))
        return g.call(
            "scatter_elements", x, indices, updates, axis=axis, reduction=_REDUCTIONS[reduce] if reduce else reduction
        )

    return convert


_REDUCTIONS = {"add": "add", "multiply": "mul"}


def at_least_a_row(node: AtenNode, x: Value) -> Value:
    """Numbers count as tensors of one element."""
    return x if x.rank else node.graph.reshape(x, (1,))


def of_one(node: AtenNode, convert: Converter, x: Value, *given: Any, **options: Any) -> Value:
    """What `convert` makes of a tensor of rank 0, which has one axis of one element when it is indexed."""
    return node.graph.reshape(convert(node, node.graph.reshape(x, (1,)), *given, **options), ())


def leading(node: AtenNode, source: Value, indices: Value) -> Value:
    """The part of the source that the indices speak of."""
    for axis, (own, wanted) in enumerate(zip(node.sizes(source), node.sizes(indices), strict=True)):
        if not node.graph.prover.equal(own, wanted):
            source = node.graph.call("strided_slice", source, axes=(axis,), begin=(0,), end=(wanted,), strides=(1,))
    return source


def take(node: AtenNode, x: Value, indices: Value) -> Value:
    """By places in the flattened tensor."""
    flat = node.graph.reshape(x, (-1,))
    return node.graph.call("take", flat, from_front(node.graph, indices, node.sizes(flat)[0]), axis=0, mode="fast")


def without_masks(node: AtenNode, x: Value, indices: Sequence[Value | None]) -> list[Value | None]:
    """Indices where a mask, which speaks of as many axes as it has, is the places of what it picks.

    How many those are is known only when it runs.
    """
    g, found = node.graph, list[Value | None]()
    for given in indices:
        if given is None or not given.dtype.is_bool:
            found.append(given)
            continue
        if not given.rank:
            node.fail("a single bool as an index adds an axis of as many elements", help="use torch.where")
        mask = g.of_shape(given, tuple(node.sizes(x)[len(found) : len(found) + given.rank]))
        places = nonzero(node, mask)
        columns = [g.call("take", places, g.constant(k, "int64"), axis=1) for k in range(mask.rank)]
        found.extend(columns)
    return found


def nonzero(node: AtenNode, x: Value) -> Value:
    """[count, rank]: the places of what is not zero; how many is known at run time."""
    g = node.graph
    places = g.transpose(g.cast(g.call("nonzero", x if x.rank else g.reshape(x, (1,))), "int64"), (1, 0))
    if not x.rank:
        return cut(node, places, 1, 0, 0)
    return g.of_shape(places, (node.sizes(places)[0], x.rank))


def masked_select(node: AtenNode, x: Value, mask: Value) -> Value:
    """The elements, in order, where the mask says so."""
    g = node.graph
    shape = node.common_shape(x, mask)
    picked, seen = (g.reshape(g.broadcast_to(v, shape), (-1,)) for v in (x, mask))
    return index(node, picked, [seen])


def index(node: AtenNode, x: Value, indices: Sequence[Value | None]) -> Value:
    """x[i, :, j]: the indexed axes become those of the broadcast indices, in place if they stand side by side.

    They are moved to the front, joined to one and taken from by one index. A mask is its places, known only when run.
    """
    g, indices = node.graph, without_masks(node, x, indices)
    axes = [a for a, i in enumerate(indices) if i is not None]
    given = [g.cast(i, "int64") for i in indices if i is not None]
    place = joined(node, given, x, axes)
    if len(axes) == 1:
        return g.call("take", x, place, axis=axes[0], mode="fast")
    rest = [a for a in range(x.rank) if a not in axes]
    sizes = node.sizes(x)
    moved = g.transpose(x, (*axes, *rest))
    flat = g.reshape(moved, (count_of([sizes[a] for a in axes]), *(sizes[a] for a in rest)))
    found = g.call("take", flat, place, axis=0, mode="fast")
    together = axes == list(range(axes[0], axes[-1] + 1))
    if not together or not axes[0]:
        return found
    before, rank = axes[0], place.rank
    order = (*range(rank, rank + before), *range(rank), *range(rank + before, found.rank))
    return g.transpose(found, order)


def repeated_places(node: AtenNode, repeats: Value, *, output_size: Dim | None = None) -> Value:
    """0 as often as the first number says, 1 as often as the second, ..."""
    g = node.graph
    ends = g.call("cumsum", g.cast(repeats, "int64"), axis=0)
    total = g.numbers(g.call("sum", g.cast(repeats, "int64"), axis=(0,), keepdims=False))
    if total is None:
        node.fail("how many elements there are is known only at run time", code="torch-dynamic")
    count = total.reshape(-1)[0]  # what is known beforehand has no axis
    places = g.call("arange", start=0, stop=count, step=1, dtype="int64")
    return g.cast(g.call("searchsorted", ends, places, right=True, dtype="int64"), node.dtype)


def diagonal(node: AtenNode, x: Value, offset: int, first: int, second: int) -> Value:
    """The elements with index i and i + offset along two axes, as the last axis."""
    g, a, b = node.graph, node.axis(first, x.rank), node.axis(second, x.rank)
    rest = [k for k in range(x.rank) if k not in (a, b)]
    sizes = node.sizes(x)
    flat = g.reshape(g.transpose(x, (*rest, a, b)), (*(sizes[k] for k in rest), sizes[a] * sizes[b]))
    return g.call("take", flat, _diagonal_places(node, sizes[a], sizes[b], offset), axis=len(rest))


def _diagonal_places(node: AtenNode, rows: Dim, columns: Dim, offset: int) -> Value:
    """Where the elements of a diagonal are in a flattened matrix."""
    g, down, right = node.graph, max(-offset, 0), max(offset, 0)
    if isinstance(rows, int) and isinstance(columns, int):
        turns = np.arange(max(min(rows - down, columns - right), 0))
        return g.constant(down * columns + right + turns * (columns + 1), "int64")
    start, step = down * columns + right, columns + 1
    count = rows if rows is columns and not offset else tir_max(tir_min(rows - down, columns - right), 0)
    each = g.call("arange", start=0, stop=count, step=1, dtype="int64")
    return g.call("add", g.call("multiply", each, g.dims(step)), g.dims(start))


INDEXING: dict[str, Converter] = {
    "aten.index_select.default": index_select, "aten.gather.default": gather, "aten.take.default": take,
    "aten.scatter.src": scatter("update"), "aten.scatter.value": scatter("update"),
    "aten.scatter.reduce": scatter("update"), "aten.scatter.value_reduce": scatter("update"),
    "aten.diagonal.default": diagonal, "aten.scatter_add.default": scatter("add"), "aten.index.Tensor": index,
    "aten.repeat_interleave.Tensor": repeated_places,
    "aten.nonzero.default": nonzero, "aten.masked_select.default": masked_select,
}  # fmt: skip
