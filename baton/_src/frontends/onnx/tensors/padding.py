"""Pad: borders around a tensor, of constant or run-time widths."""

from __future__ import annotations

from baton._src.frontends.graph_builder.operands import at_least
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64


def pad(node: OnnxNode) -> Value:
    g, x, rank = node.graph, node[0], node.rank()
    axes = node.constant(3, "axes")
    places = [node.place(int(a), rank) for a in axes.reshape(-1)] if axes is not None else list(range(rank))
    given = node.optional(1)
    pads = list(node.ints("pads") or ()) if given is None else node.sizes(1, "pads", 2 * len(places))
    if len(pads) != 2 * len(places):
        help = "first those before each axis, then those behind each"
        node.fail(f"it has {len(pads)} pads for {len(places)} axes, it must have two for each", help=help)
    fill = node.optional(2)
    known = [p for p in pads if isinstance(p, int)]
    if len(known) < len(pads) or (fill is not None and fill.array is None):
        for position, axis in enumerate(places):
            x = widened(node, x, axis, pads[position], pads[position + len(places)], _number(node, x))
        return x
    begins, ends = [0] * rank, [0] * rank
    for position, axis in enumerate(places):
        begins[axis], ends[axis] = known[position], known[position + len(places)]
    for size, before, after in zip(x.shape or (), begins, ends, strict=False):
        if isinstance(size, int) and size + before + after < 0:
            node.fail(f"pads of {before} and {after} take more than there is of an axis of {size}")
    if any(p < 0 for p in begins + ends):
        x = _crop(node, x, begins, ends)
        begins, ends = [max(p, 0) for p in begins], [max(p, 0) for p in ends]
    mode = {"wrap": "circular"}.get(str(node.attr("mode", "constant")), str(node.attr("mode", "constant")))
    if mode != "constant":
        x = _with_elements(node, x, [b + e > 0 for b, e in zip(begins, ends, strict=True)])
    widths = tuple(w for pair in zip(begins, ends, strict=True) for w in pair)
    number = float(node.attr("value", 0.0))
    if fill is not None and fill.array is not None:
        number = fill.array.reshape(-1)[0].item() if fill.array.size else 0.0
    return g.call("nn.pad", x, pad_width=widths, pad_value=number, pad_mode=mode)


def _with_elements(node: OnnxNode, x: Value, widened: list[bool]) -> Value:
    """`x`, whose `widened` axes are to have elements for the border to repeat: known here, or checked at run time."""
    if x.shape is None:
        return x
    some: list[Dim] = []
    for axis, (dim, wider) in enumerate(zip(x.shape, widened, strict=True)):
        if wider and isinstance(dim, int) and dim == 0:
            node.fail(f"axis {axis} has no elements that a border could repeat")
        some.append(at_least(dim, 1) if wider else dim)
    return node.graph.of_shape(node.graph.of_shape(x, tuple(some)), x.shape)


def widened(node: OnnxNode, x: Value, axis: int, before: Dim, after: Dim, number: Value) -> Value:
    """A border along one axis, of a width or with a number that only a run tells: every element of the result looks
    for its place in the operand. A negative width takes elements away, before others are repeated."""
    g = node.graph
    if x.shape is None:
        node.fail("the size of the padded axis must be known", code="onnx-dynamic")
    if all(isinstance(w, int) and w == 0 for w in (before, after)):
        return x
    size, mode = x.shape[axis], str(node.attr("mode", "constant"))
    if mode != "constant":
        x, size = _without(node, x, axis, at_least(-before, 0), at_least(-after, 0))
        before, after = at_least(before, 0), at_least(after, 0)
    length, zero = g.dims(size), g.scalar(0, g.dims(size))
    last = g.call("subtract", length, g.scalar(1, length))
    at = g.call("subtract", g.call("arange", start=0, stop=size + before + after, step=1, dtype=INT64), g.dims(before))
    if mode == "wrap":
        return g.call("take", x, g.call("floor_mod", at, length), axis=axis)
    if mode == "reflect":  # there and back again: 0 1 2 1 | 0 1 2 1 | ...
        turn = g.call("maximum", g.call("multiply", last, g.scalar(2, last)), g.scalar(1, last))
        there = g.call("floor_mod", at, turn)
        return g.call("take", x, g.call("minimum", there, g.call("subtract", turn, there)), axis=axis)
    if mode == "constant" and isinstance(size, int) and size == 0:
        assert x.shape is not None
        return g.broadcast_to(number, (*x.shape[:axis], before + after, *x.shape[axis + 1 :]))
    inside = g.call("take", x, g.call("maximum", g.call("minimum", at, last), zero), axis=axis)
    if mode == "edge":
        return inside
    taken = g.call("logical_and", g.call("greater_equal", at, zero), g.call("less_equal", at, last))
    taken = g.reshape(taken, (size + before + after, *[1] * (x.rank - axis - 1)))
    return g.call("where", taken, inside, number)


def _without(node: OnnxNode, x: Value, axis: int, before: Dim, after: Dim) -> tuple[Value, Dim]:
    """(`x` without so many elements at the ends of an axis, what is left of that)"""
    assert x.shape is not None
    size = x.shape[axis]
    if all(isinstance(w, int) and w == 0 for w in (before, after)):
        return x, size
    left = size - before - after
    kept = node.graph.call("strided_slice", x, axes=(axis,), begin=(before,), end=(size - after,), strides=(1,))
    return node.graph.of_shape(kept, (*x.shape[:axis], left, *x.shape[axis + 1 :])), left


def _number(node: OnnxNode, x: Value) -> Value:
    """What a border consists of, a scalar."""
    fill = node.optional(2)
    return node.graph.scalar(float(node.attr("value", 0.0)), x) if fill is None else node.graph.reshape(fill, ())


def _crop(node: OnnxNode, x: Value, begins: list[int], ends: list[int]) -> Value:
    """Negative padding takes elements away."""
    rank = len(begins)
    start = [max(-b, 0) for b in begins]
    stop = [-max(-e, 0) if e < 0 else 2**31 - 1 for e in ends]
    axes = tuple(range(rank))
    return node.graph.call("strided_slice", x, axes=axes, begin=tuple(start), end=tuple(stop), strides=(1,) * rank)
