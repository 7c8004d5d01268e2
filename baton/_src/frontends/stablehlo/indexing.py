"""Reading and writing at places that a run tells: gather, scatter, and slices at a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.operands import as_int
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.stablehlo.node import Converter, Node, cut
from baton._src.ir.tensor_info import Dim

_REDUCTIONS = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


def dynamic_slice(node: Node) -> Value:
    """`sizes` elements from a place on; it is moved so that they lie within the tensor."""
    x, sizes = node.operands[0], node.attr("sizes", node.attr("slice_sizes"))
    for axis, size in enumerate(sizes):
        if node.shape(x)[axis] != size:
            x = node.graph.call("take", x, _places(node, x, node.operands[1 + axis], axis, size), axis=axis)
    return x


def _places(node: Node, x: Value, start: Value, axis: int, size: Dim) -> Value:
    """Indices of `size` elements along an axis from a place on."""
    g = node.graph
    last = g.dims(node.shape(x)[axis] - size)
    inside = g.call("minimum", g.call("maximum", g.cast(start, "int64"), g.constant(0, "int64")), last)
    return g.call("add", g.call("arange", start=0, stop=size, step=1, dtype="int64"), inside)


def dynamic_update_slice(node: Node) -> Value:
    """`x` with `part` at a place, which is moved so that it lies within."""
    g, (x, part, *starts) = node.graph, node.operands
    shape, sizes = node.shape(x), node.shape(part)
    moving = [k for k in range(x.rank) if shape[k] != sizes[k]]
    if not moving:
        return part
    order = [*moving, *(k for k in range(x.rank) if k not in moving)]
    start = g.call("concat", tuple(g.cast(g.reshape(starts[k], (1,)), "int64") for k in moving), axis=0)
    last = g.dims([shape[k] - sizes[k] for k in moving])
    inside = g.call("minimum", g.call("maximum", start, g.constant(0, "int64")), last)
    moved = [k for k in order if k not in moving or sizes[k] != 1]
    given = g.reshape(g.transpose(part, order), [sizes[k] for k in moved])
    places = _windows(node, inside, [sizes[k] for k in moving])
    found = g.call("scatter_nd", g.transpose(x, order), places, given, reduction="update")
    return g.transpose(found, [order.index(k) for k in range(x.rank)])


def _index_columns(node: Node, indices: Value, numbers: Mapping[str, Any]) -> Value:
    """(places..., axes of `x`) of the indices: those of axes side by side are counted, the others told."""
    g, axis = node.graph, int(numbers.get("index_vector_dim", 0))
    if axis == indices.rank:
        indices = g.reshape(indices, (*node.shape(indices), 1))
    indices = g.transpose(indices, [k for k in range(indices.rank) if k != axis] + [axis])
    indices = g.cast(indices, "int64")
    shape = node.shape(indices)[:-1]
    columns = []
    for place in numbers.get("start_indices_batching_dims", numbers.get("scatter_indices_batching_dims", [])):
        place -= place > axis
        count = g.call("arange", start=0, stop=shape[place], step=1, dtype="int64")
        row = g.reshape(count, [s if k == place else 1 for k, s in enumerate(shape)])
        columns.append(g.reshape(g.broadcast_to(row, shape), (*shape, 1)))
    return g.call("concat", (*columns, indices), axis=len(shape)) if columns else indices


def _windows(node: Node, starts: Value, sizes: Sequence[Dim]) -> Value:
    """(places..., sizes but those that are 1..., axes): the indices of all elements of windows that begin at `starts`
    (places..., axes).
    """
    g, wide = node.graph, [k for k, size in enumerate(sizes) if size != 1]
    if not wide:
        return starts
    grid, columns = [sizes[k] for k in wide], []
    for k, size in enumerate(sizes):
        count = g.call("arange", start=0, stop=size, step=1, dtype="int64")
        row = g.reshape(count, [size if j == k else 1 for j in wide])
        columns.append(g.reshape(g.broadcast_to(row, grid), (*grid, 1)))
    places = node.shape(starts)[:-1]
    offsets = columns[0] if len(columns) == 1 else g.call("concat", tuple(columns), axis=len(grid))
    return g.call("add", g.reshape(starts, (*places, *(1 for _ in wide), len(sizes))), offsets)


def gather(node: Node) -> Value:
    """Slices of `x` at many places, which are moved so that they lie within it."""
    g, (x, indices) = node.graph, node.operands[:2]
    numbers, sizes = node.attr("dimension_numbers"), _slice_sizes(node)
    batch = numbers.get("operand_batching_dims", [])
    indexed = [*batch, *numbers.get("start_index_map", [])]
    rest = [k for k in range(x.rank) if k not in indexed]
    for k in rest:
        if sizes[k] != node.shape(x)[k]:
            x = cut(node, x, k, 0, sizes[k])
    starts = _index_columns(node, indices, numbers)
    last = g.dims([node.shape(x)[k] - sizes[k] for k in indexed])
    inside = g.call("minimum", g.call("maximum", starts, g.constant(0, "int64")), last)
    found = _read(node, g.transpose(x, [*indexed, *rest]), _windows(node, inside, [sizes[k] for k in indexed]))
    without = [*batch, *numbers.get("collapsed_slice_dims", [])]
    kept = [k for k in range(x.rank) if k not in without]
    made = [k for k in indexed if sizes[k] != 1] + rest
    single = [k for k in kept if k not in made]  # of one element, behind the others
    found = g.reshape(found, (*node.shape(found), *(1 for _ in single)))
    count = starts.rank - 1
    order = [*range(count), *(count + [*made, *single].index(k) for k in kept)]
    return _offsets_in_place(node, g.transpose(found, order), numbers.get("offset_dims", []), count)


def _read(node: Node, x: Value, indices: Value) -> Value:
    """`x[i, j, ...]` for (i, j, ...) along the last axis of the indices."""
    *places, count = node.shape(indices)
    if count != 1:
        return node.graph.call("gather_nd", x, indices)
    return node.graph.call("take", x, node.graph.reshape(indices, places), axis=0)


def _slice_sizes(node: Node) -> list[Dim]:
    """The attribute, or what the third operand says."""
    given = node.attr("slice_sizes")
    told = node.graph.numbers(node.operands[2]) if given is None else np.array(given)
    if told is None:
        node.fail("the sizes of slices are known only to a run")
    return [as_int(size) for size in told.reshape(-1)]


def _offsets_in_place(node: Node, x: Value, offsets: Sequence[int], count: int) -> Value:
    """(places..., slice...) with the axes of slices at `offsets`."""
    places, parts = iter(range(count)), iter(range(count, x.rank))
    return node.graph.transpose(x, [next(parts) if k in offsets else next(places) for k in range(x.rank)])


def scatter(node: Node) -> Value:
    """`x` changed at many places; what does not lie within it is left out: it is written behind the tensor."""
    g, (x, indices, updates) = node.graph, node.operands[:3]
    numbers, shape = node.attr("scatter_dimension_numbers"), node.shape(x)
    if len(node.operands) != 3:
        node.fail("several tensors are changed together")
    batch, windows = numbers.get("input_batching_dims", []), numbers.get("update_window_dims", [])
    without = [*batch, *numbers.get("inserted_window_dims", [])]
    sizes: list[Dim] = [1] * x.rank
    for k, axis in zip((k for k in range(x.rank) if k not in without), windows, strict=True):
        sizes[k] = node.shape(updates)[axis]
    told = [*batch, *numbers.get("scatter_dims_to_operand_dims", [])]
    partly = [k for k in range(x.rank) if k not in told and sizes[k] != shape[k]]  # from the first element on
    indexed = [*told, *partly]
    starts = _index_columns(node, indices, numbers)
    if partly:
        zeros = g.broadcast_to(g.constant(0, "int64"), (*node.shape(starts)[:-1], len(partly)))
        starts = g.call("concat", (starts, zeros), axis=starts.rank - 1)
    places = _within_or_behind(node, starts, [shape[k] for k in indexed], [sizes[k] for k in indexed])
    rest = [k for k in range(x.rank) if k not in indexed]
    kept = [k for k in range(x.rank) if k not in without]
    ones = [k for k in kept if k in indexed and sizes[k] == 1]
    made = [k for k in indexed if sizes[k] != 1] + rest
    moved = g.transpose(
        updates,
        [*(k for k in range(updates.rank) if k not in windows), *(windows[kept.index(k)] for k in [*made, *ones])],
    )
    moved = g.reshape(moved, node.shape(moved)[: updates.rank - len(ones)])
    return _with_written(node, x, [*indexed, *rest], len(indexed), places, moved)


def _with_written(node: Node, x: Value, order: Sequence[int], count: int, places: Value, updates: Value) -> Value:
    """`x` with elements written along the first `count` axes of `order`, behind whose end is what is left out."""
    g, shape = node.graph, node.shape(x)
    widths = [w for k in range(x.rank) for w in (0, int(k < count))]
    wide = g.call("nn.pad", g.transpose(x, order), pad_width=tuple(widths), pad_value=0.0, pad_mode="constant")
    found = g.call("scatter_nd", wide, places, updates, reduction=_written(node))
    for k in range(count):
        found = cut(node, found, k, 0, shape[order[k]])
    return g.transpose(found, [order.index(k) for k in range(x.rank)])


def _within_or_behind(node: Node, starts: Value, shape: Sequence[Dim], sizes: Sequence[Dim]) -> Value:
    """The indices of windows; of those that do not lie within the tensor, the place behind its end along every axis."""
    g = node.graph
    last = g.dims([whole - size for whole, size in zip(shape, sizes, strict=True)])
    low, high = g.call("greater_equal", starts, g.constant(0, "int64")), g.call("less_equal", starts, last)
    inside = g.call("all", g.call("logical_and", low, high), axis=(starts.rank - 1,), keepdims=True)
    wide = sum(size != 1 for size in sizes)
    inside = g.reshape(inside, (*node.shape(inside)[:-1], *[1] * wide, 1))
    return g.call("where", inside, _windows(node, starts, sizes), g.dims(shape))


def _written(node: Node) -> str:
    """What becomes of an element and what is written to it."""
    region = node.op.regions[0]
    name = region.body[0].name.removeprefix("stablehlo.")
    if len(region.body) == 1 and region.body[0].operands == region.params[1:]:
        return "update"
    if len(region.body) == 2 and name in _REDUCTIONS:
        return _REDUCTIONS[name]
    node.fail("elements are replaced, added, multiplied, or compared")


INDEXING: dict[str, Converter] = {
    "stablehlo.dynamic_slice": dynamic_slice, "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": gather, "stablehlo.dynamic_gather": gather, "stablehlo.scatter": scatter,
}  # fmt: skip
