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
    rest = [k for k in range(x.rank) if k not in moving]
    grid = [sizes[k] for k in moving]
    columns = []
    for k, axis in enumerate(moving):
        row = _places(node, x, starts[axis], axis, sizes[axis])
        row = g.reshape(row, [s if j == k else 1 for j, s in enumerate(grid)])
        columns.append(g.reshape(g.broadcast_to(row, grid), (*grid, 1)))
    indices = columns[0] if len(columns) == 1 else g.call("concat", tuple(columns), axis=len(grid))
    order = [*moving, *rest]
    found = g.call("scatter_nd", g.transpose(x, order), indices, g.transpose(part, order), reduction="update")
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


def gather(node: Node) -> Value:
    """Slices of `x` at many places, which are moved into it. Along indexed axes they hold one element each."""
    x, indices = node.operands[:2]
    numbers, sizes = node.attr("dimension_numbers"), _slice_sizes(node)
    batch, axes = numbers.get("operand_batching_dims", []), numbers.get("start_index_map", [])
    indexed, without = [*batch, *axes], [*batch, *numbers.get("collapsed_slice_dims", [])]
    wide = [k for k in axes if sizes[k] != 1]
    if len(wide) == len(axes) and indices.rank == 1 and not batch:
        return _one_slice(node, x, indices, axes, sizes, without)
    if wide:
        node.fail("slices of several elements at many places are not supported")
    rest = [k for k in range(x.rank) if k not in indexed]
    for k in rest:
        if sizes[k] != node.shape(x)[k]:
            x = cut(node, x, k, 0, sizes[k])
    found, count = _at_places(node, x, _index_columns(node, indices, numbers), indexed, rest)
    kept = [k for k in range(x.rank) if k not in without]
    single = [k for k in kept if k in indexed]  # of one element, behind the others
    found = node.graph.reshape(found, (*node.shape(found), *(1 for _ in single)))
    order = [*range(count), *(count + [*rest, *single].index(k) for k in kept)]
    return _offsets_in_place(node, node.graph.transpose(found, order), numbers.get("offset_dims", []), count)


def _slice_sizes(node: Node) -> list[Dim]:
    """The attribute, or what the third operand says."""
    given = node.attr("slice_sizes")
    told = node.graph.numbers(node.operands[2]) if given is None else np.array(given)
    if told is None:
        node.fail("the sizes of slices are known only to a run")
    return [as_int(size) for size in told.reshape(-1)]


def _at_places(node: Node, x: Value, places: Value, indexed: Sequence[int], rest: Sequence[int]) -> tuple[Value, int]:
    """(places..., rest...) of `x` at indices of its axes `indexed`; the number of the axes of places."""
    g, shape = node.graph, node.shape(x)
    last = g.dims([shape[k] - 1 for k in indexed])
    inside = g.call("minimum", g.call("maximum", places, g.constant(0, "int64")), last)
    moved = g.transpose(x, [*indexed, *rest])
    if len(indexed) > 1:
        return g.call("gather_nd", moved, inside), inside.rank - 1
    return g.call("take", moved, g.reshape(inside, node.shape(inside)[:-1]), axis=0), inside.rank - 1


def _offsets_in_place(node: Node, x: Value, offsets: Sequence[int], count: int) -> Value:
    """(places..., slice...) with the axes of slices at `offsets`."""
    places, parts = iter(range(count)), iter(range(count, x.rank))
    return node.graph.transpose(x, [next(parts) if k in offsets else next(places) for k in range(x.rank)])


def _one_slice(
    node: Node, x: Value, indices: Value, axes: Sequence[int], sizes: Sequence[Dim], without: Sequence[int]
) -> Value:
    """A slice at one place, which is moved so that it lies within the tensor."""
    for number, axis in enumerate(axes):
        start = node.graph.reshape(cut(node, indices, 0, number, number + 1), ())
        if node.shape(x)[axis] != sizes[axis]:
            x = node.graph.call("take", x, _places(node, x, start, axis, sizes[axis]), axis=axis)
    return node.graph.reshape(x, [size for k, size in enumerate(sizes) if k not in without])


def scatter(node: Node) -> Value:
    """`x` changed at many places; what lies outside of it is left out: it is written behind the tensor."""
    g, (x, indices, updates) = node.graph, node.operands[:3]
    numbers, shape = node.attr("scatter_dimension_numbers"), node.shape(x)
    batch = numbers.get("input_batching_dims", [])
    indexed = [*batch, *numbers.get("scatter_dims_to_operand_dims", [])]
    windows, rest = numbers.get("update_window_dims", []), [k for k in range(x.rank) if k not in indexed]
    are_whole = [node.shape(updates)[k] for k in windows] == [shape[k] for k in rest]
    if len(node.operands) != 3 or not are_whole or {*indexed} != {*batch, *numbers.get("inserted_window_dims", [])}:
        node.fail("only whole slices, or single elements, are written")
    order = [*indexed, *rest]
    widths = [w for k in range(x.rank) for w in (0, int(k < len(indexed)))]
    wide = g.call("nn.pad", g.transpose(x, order), pad_width=tuple(widths), pad_value=0.0, pad_mode="constant")
    places = _within_or_behind(node, _index_columns(node, indices, numbers), [shape[k] for k in indexed])
    moved = g.transpose(updates, [*(k for k in range(updates.rank) if k not in windows), *windows])
    found = g.call("scatter_nd", wide, places, moved, reduction=_written(node))
    for k in range(len(indexed)):
        found = cut(node, found, k, 0, shape[order[k]])
    return g.transpose(found, [order.index(k) for k in range(x.rank)])


def _within_or_behind(node: Node, places: Value, sizes: Sequence[Dim]) -> Value:
    """(places..., axes) of indices; those outside of the tensor become the place behind its end along every axis."""
    g, ends = node.graph, node.graph.dims(sizes)
    low, high = g.call("greater_equal", places, g.constant(0, "int64")), g.call("less", places, ends)
    inside = g.call("all", g.call("logical_and", low, high), axis=(places.rank - 1,), keepdims=True)
    return g.call("where", inside, places, ends)


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
