"""Gathering and scattering by tensors of indices. What counts from the end is made to count from the front."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar


def from_front(node: AtenNode, indices: Value, x: Value, axis: int) -> Value:
    """Indices into an axis; constants that need no change stay."""
    if indices.array is not None and (indices.array >= 0).all():
        return indices
    g = node.graph
    size = g.dims(node.sizes(x)[axis], indices.dtype)
    return g.call("where", g.call("less", indices, g.scalar(0, indices)), g.call("add", indices, size), indices)


def index_select(node: AtenNode, x: Value, dim: int, indices: Value) -> Value:
    axis = node.axis(dim, x.rank)
    flat = node.graph.reshape(indices, (-1,))
    return node.graph.call("take", x, from_front(node, flat, x, axis), axis=axis)


def gather(node: AtenNode, x: Value, dim: int, indices: Value, *, sparse_grad: bool = False) -> Value:
    """The axes of the indices may be shorter than those of the tensor; what lies beyond is not looked at."""
    axis = node.axis(dim, x.rank)
    for other, (own, wanted) in enumerate(zip(node.sizes(x), node.sizes(indices), strict=True)):
        if other != axis and not node.graph.prover.equal(own, wanted):
            x = node.graph.call("strided_slice", x, axes=(other,), begin=(0,), end=(wanted,), strides=(1,))
    return node.graph.call("gather_elements", x, from_front(node, indices, x, axis), axis=axis)


def scatter(reduction: str) -> Converter:
    """Elements of `source` (or one number) written to places along an axis."""

    def convert(node: AtenNode, x: Value, dim: int, indices: Value, source: Value | Scalar) -> Value:
        g, axis = node.graph, node.axis(dim, x.rank)
        if isinstance(source, Value):
            updates = leading(node, g.cast(source, x.dtype), indices)
        else:
            updates = g.broadcast_to(node.tensor(source, x.dtype), node.sizes(indices))
        places = from_front(node, indices, x, axis)
        return g.call("scatter_elements", x, places, updates, axis=axis, reduction=reduction)

    return convert


def leading(node: AtenNode, source: Value, indices: Value) -> Value:
    """The part of the source that the indices speak of."""
    for axis, (own, wanted) in enumerate(zip(node.sizes(source), node.sizes(indices), strict=True)):
        if not node.graph.prover.equal(own, wanted):
            source = node.graph.call("strided_slice", source, axes=(axis,), begin=(0,), end=(wanted,), strides=(1,))
    return source


def take(node: AtenNode, x: Value, indices: Value) -> Value:
    """By places in the flattened tensor."""
    flat = node.graph.reshape(x, (-1,))
    return node.graph.call("take", flat, from_front(node, indices, flat, 0), axis=0)


def index(node: AtenNode, x: Value, indices: Sequence[Value | None]) -> Value:
    """x[i, :, j]: the indexed axes become those of the broadcast indices, in place if they stand side by side.

    They are moved to the front, joined to one and taken from by one index. A mask is its places, known only when run.
    """
    g = node.graph
    if any(i is not None and i.dtype.is_bool for i in indices):
        node.fail("a mask picks as many elements as a run finds", help="use torch.where, or multiply by the mask")
    axes = [a for a, i in enumerate(indices) if i is not None]
    given = [g.cast(i, "int64") for i in indices if i is not None]
    places = [from_front(node, i, x, a) for a, i in zip(axes, given, strict=True)]
    if len(axes) == 1:
        return g.call("take", x, places[0], axis=axes[0])
    rest = [a for a in range(x.rank) if a not in axes]
    sizes = node.sizes(x)
    moved = g.transpose(x, (*axes, *rest))
    flat = g.reshape(moved, (-1, *(sizes[a] for a in rest)))
    place = places[0]
    for axis, more in zip(axes[1:], places[1:], strict=True):
        place = g.call("add", g.call("multiply", place, g.dims(sizes[axis])), more)
    found = g.call("take", flat, place, axis=0)
    together = axes == list(range(axes[0], axes[-1] + 1))
    if not together or not axes[0]:
        return found
    before, rank = axes[0], place.rank
    order = (*range(rank, rank + before), *range(rank), *range(rank + before, found.rank))
    return g.transpose(found, order)


def diagonal(node: AtenNode, x: Value, offset: int, first: int, second: int) -> Value:
    """The elements with index i and i + offset along two axes, as the last axis."""
    g, a, b = node.graph, node.axis(first, x.rank), node.axis(second, x.rank)
    rest = [k for k in range(x.rank) if k not in (a, b)]
    sizes = node.sizes(x)
    rows, columns = (node.known(sizes[k], "the size of the axis") for k in (a, b))
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    places = (np.arange(count) + max(-offset, 0)) * columns + np.arange(count) + max(offset, 0)
    flat = g.reshape(g.transpose(x, (*rest, a, b)), (*(sizes[k] for k in rest), rows * columns))
    return g.call("take", flat, g.constant(places), axis=len(rest))


INDEXING: dict[str, Converter] = {
    "aten.index_select.default": index_select, "aten.gather.default": gather, "aten.take.default": take,
    "aten.scatter.src": scatter("update"), "aten.scatter.value": scatter("update"),
    "aten.diagonal.default": diagonal, "aten.scatter_add.default": scatter("add"), "aten.index.Tensor": index,
}  # fmt: skip
