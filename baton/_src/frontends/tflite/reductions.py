"""Reductions over axes, running sums, and the places of the largest elements."""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node


def _axes(node: Node) -> tuple[int, ...]:
    return tuple(sorted({node.axis(axis) for axis in node.constants(1, "the axes")}))


def reduced(op: str) -> Converter:
    """Sums and products of what quantised numbers stand for."""

    def convert(node: Node) -> Value:
        x, axes = node.real(), _axes(node)
        if not axes:
            return node.stored(x)
        return node.stored(node.graph.call(op, x, axis=axes, keepdims=bool(node.option("KeepDims", False))))

    return convert


def extremum(op: str) -> Converter:
    """The largest of integers stands for the largest number: they are not converted."""

    def convert(node: Node) -> Value:
        axes = _axes(node)
        found = node[0]
        if axes:
            found = node.graph.call(op, found, axis=axes, keepdims=bool(node.option("KeepDims", False)))
        return node.moved(found)

    return convert


def place_of(op: str) -> Converter:
    """The first place of the extremum along the axis that operand 1 names."""

    def convert(node: Node) -> Value:
        (axis,) = node.constants(1, "the axis")
        return node.graph.cast(node.graph.call(op, node[0], axis=node.axis(axis)), node.results[0].dtype)

    return convert


def running_sum(node: Node) -> Value:
    g, (axis,) = node.graph, node.constants(1, "the axis")
    axis, backwards = node.axis(axis), bool(node.option("Reverse", False))
    x = node.real()
    x = g.call("flip", x, axis=axis) if backwards else x
    found = g.call("cumsum", x, axis=axis, exclusive=bool(node.option("Exclusive", False)))
    return node.stored(g.call("flip", found, axis=axis) if backwards else found)


def largest(node: Node) -> list[Value]:
    """The k largest elements of the last axis in descending order, and their places."""
    (count,) = node.constants(1, "k")
    dtype = node.results[1].dtype
    found, places = node.graph.call_many("topk", node[0], k=count, axis=-1, ret_type="both", dtype=dtype)
    return [node.moved(found), places]


REDUCTIONS: dict[str, Converter] = {
    "SUM": reduced("sum"), "MEAN": reduced("mean"), "REDUCE_PROD": reduced("prod"), "REDUCE_MAX": extremum("max"),
    "REDUCE_MIN": extremum("min"), "REDUCE_ANY": extremum("any"), "REDUCE_ALL": extremum("all"),
    "ARG_MAX": place_of("argmax"), "ARG_MIN": place_of("argmin"), "CUMSUM": running_sum, "TOPK_V2": largest,
}  # fmt: skip
