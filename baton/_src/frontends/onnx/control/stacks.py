"""Sequences as one tensor that stacks their items, which have one shape: their number, and the positions of insertions
and removals, may be known only at run time.
"""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.indices import from_front
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
    """Stack items that are known one by one, for a `reason` that the error names if their shapes differ."""
    shapes = [sizes_of(node, item) for item in items]
    for shape in shapes[1:]:
        if len(shape) != len(shapes[0]) or not all(map(node.graph.prover.equal, shape, shapes[0])):
            node.fail(f"{reason}, and items differ in shape", code="onnx-dynamic", help="let the items have one shape")
    return in_one(node, items, 0)


def taken(node: OnnxNode, stack: Value, position: Value) -> Value:
    """The item at a position (negative: from the end); a position beyond either end is an error."""
    return node.graph.call("take", stack, _place(node, stack, position), axis=0, mode="fast")


def without(node: OnnxNode, stack: Value, position: Value | None) -> Value:
    """The sequence without the item at a position; by default the last."""
    g, count = node.graph, sizes_of(node, stack)[0]
    place = _place(node, stack, g.constant(-1, INT64) if position is None else position)
    _demand_within(node, place, count - 1)
    left = _numbers(node, count - 1)
    behind = g.cast(g.call("greater_equal", left, place), INT64)
    return g.call("take", stack, g.call("add", left, behind), axis=0)


def with_item(node: OnnxNode, stack: Value, item: Value, position: Value | None) -> Value:
    """The sequence with an item inserted before a position; by default at the end."""
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
    """The items stacked along a new axis, or concatenated along an existing one."""
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
    """Check a position explicitly: an empty result computes nothing, so no access would detect a wrong position."""
    g = node.graph
    first, final = g.call("greater_equal", place, g.scalar(0, place)), g.call("less_equal", place, g.dims(last))
    inside = g.call("logical_and", first, final)
    g.demand(inside, f"{node.title}: its position is outside the sequence")


def _numbers(node: OnnxNode, count: Dim) -> Value:
    return node.graph.call("arange", start=0, stop=count, step=1, dtype=INT64)


def _place(node: OnnxNode, stack: Value, position: Value) -> Value:
    """A position counted from the front; one outside stays outside."""
    g, at = node.graph, node.graph.reshape(node.graph.cast(position, INT64), ())
    return from_front(g, at, sizes_of(node, stack)[0])
