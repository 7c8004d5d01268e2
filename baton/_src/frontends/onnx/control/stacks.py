"""Sequences as one tensor that stacks their items, which have one shape: how many there are, and where one is taken
out or put in, a run may tell."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.control.loops import in_one
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64


def sizes_of(node: OnnxNode, stack: Value) -> tuple[Dim, ...]:
    if stack.shape is None:
        node.fail("the rank of the items must be known", code="onnx-dynamic")
    return stack.shape


def stack_of(node: OnnxNode, items: tuple[Value, ...], reason: str) -> Value:
    """Items that are known one by one as one tensor, for a `reason` that the error names if their shapes differ."""
    shapes = [sizes_of(node, item) for item in items]
    for shape in shapes[1:]:
        if len(shape) != len(shapes[0]) or not all(map(node.graph.prover.equal, shape, shapes[0])):
            node.fail(f"{reason}, and items differ in shape", code="onnx-dynamic", help="let the items have one shape")
    return in_one(node, items, 0)


def taken(node: OnnxNode, stack: Value, position: Value) -> Value:
    """The item at a position, which counts from the end below 0; beyond either end is an error."""
    return node.graph.call("take", stack, _place(node, stack, position), axis=0, mode="fast")


def without(node: OnnxNode, stack: Value, position: Value | None) -> Value:
    """All but the item at a position; by default the last."""
    g, count = node.graph, sizes_of(node, stack)[0]
    place = _place(node, stack, g.constant(-1, INT64) if position is None else position)
    _demand_within(node, place, count - 1)
    left = _numbers(node, count - 1)
    behind = g.cast(g.call("greater_equal", left, place), INT64)
    return g.call("take", stack, g.call("add", left, behind), axis=0)


def with_item(node: OnnxNode, stack: Value, item: Value, position: Value | None) -> Value:
    """One item more, before the one at a position; by default behind the last."""
    g, count = node.graph, sizes_of(node, stack)[0]
    whole = g.call("concat", (stack, g.call("expand_dims", item, axis=(0,))), axis=0)
    if position is None:
        return whole
    numbers = _numbers(node, count + 1)
    place = _place(node, stack, position)
    _demand_within(node, place, count)
    behind = g.call("subtract", numbers, g.constant(1, INT64))
    there = g.call("where", g.call("equal", numbers, place), g.dims(count), behind)
    return g.call("take", whole, g.call("where", g.call("less", numbers, place), numbers, there), axis=0)


def joined(node: OnnxNode, stack: Value) -> Value:
    """The items along an axis of their own, or behind each other along one they have."""
    g, sizes = node.graph, sizes_of(node, stack)
    new = bool(node.attr("new_axis", 0))
    axis = node.place(int(node.needed("axis")), len(sizes) - (not new))
    order = list(range(1, len(sizes)))
    order.insert(axis, 0)
    turned = g.transpose(stack, order)
    if new:
        return turned
    return g.reshape(turned, (*sizes[1 : axis + 1], sizes[0] * sizes[axis + 1], *sizes[axis + 2 :]))


def length_of(node: OnnxNode, stack: Value) -> Value:
    return node.graph.dims(np.array(sizes_of(node, stack)[0], dtype=object))


def _demand_within(node: OnnxNode, place: Value, last: Dim) -> None:
    """Of an empty result nothing is computed, so that no access to it would find the wrong place."""
    g = node.graph
    first, final = g.call("greater_equal", place, g.scalar(0, place)), g.call("less_equal", place, g.dims(last))
    inside = g.call("logical_and", first, final)
    g.demand(inside, f"{node.title}: its position is outside the sequence")


def _numbers(node: OnnxNode, count: Dim) -> Value:
    return node.graph.call("arange", start=0, stop=count, step=1, dtype=INT64)


def _place(node: OnnxNode, stack: Value, position: Value) -> Value:
    """A position from the front; one outside stays outside."""
    g, at = node.graph, node.graph.reshape(node.graph.cast(position, INT64), ())
    count = g.dims(sizes_of(node, stack)[0])
    return g.call("where", g.call("less", at, g.scalar(0, at)), g.call("add", at, count), at)
