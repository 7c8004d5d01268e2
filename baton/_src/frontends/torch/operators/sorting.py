"""Sorting and searching."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.shape import cut
from baton._src.ir.tensor_info import Dim


def sort(node: AtenNode, x: Value, dim: int = -1, descending: bool = False, **given: Any) -> tuple[Value, Value]:
    """(sorted elements, their places)"""
    g = node.graph
    if not x.rank:
        return x, g.constant(0, "int64")
    axis, down = node.axis(given.get("dim", dim), x.rank), bool(given.get("descending", descending))
    places = argsort(node, x, axis, down)
    return g.call("gather_elements", x, places, axis=axis), places


def argsort(node: AtenNode, x: Value, dim: int = -1, descending: bool = False, **given: Any) -> Value:
    axis, down = node.axis(given.get("dim", dim), x.rank), bool(given.get("descending", descending))
    if not x.rank:
        return node.graph.constant(0, "int64")
    # Each language reads its own of the two attributes.
    return node.graph.call("argsort", x, axis=axis, descending=down, is_ascend=not down, dtype="int64")


def topk(node: AtenNode, x: Value, k: Dim, dim: int, largest: bool, is_sorted: bool) -> tuple[Value, ...]:
    g, axis = node.graph, node.axis(dim, x.rank)
    count = node.known(k, "how many are wanted")
    options = {"k": count, "axis": axis, "ret_type": "both", "dtype": "int64"}
    if not count:
        node.fail("the greatest 0 elements are asked for")
    return g.call_many("topk", x, largest=bool(largest), is_ascend=not largest, **options)


def searched(node: AtenNode, edges: Value, x: Value, right: bool, out_int32: bool) -> Value:
    found = node.graph.call("searchsorted", edges, x, right=bool(right), dtype="int32" if out_int32 else "int64")
    return node.graph.cast(found, node.dtype)


def bucketize(node: AtenNode, x: Value, edges: Value, *, out_int32: bool, right: bool) -> Value:
    a, b = node.promoted(edges, x)
    return searched(node, a, b, right, out_int32)


def nonzero(node: AtenNode, x: Value) -> Value:
    """[count, rank]: the places of what is not zero; how many is known at run time."""
    g = node.graph
    places = g.transpose(g.cast(g.call("nonzero", x if x.rank else g.reshape(x, (1,))), "int64"), (1, 0))
    return places if x.rank else cut(node, places, 1, 0, 0)


def kth(node: AtenNode, x: Value, k: Dim, dim: int, keepdim: bool) -> tuple[Value, Value]:
    """The k-th least along an axis, counted from 1, and its place."""
    g, axis = node.graph, node.axis(dim, x.rank)
    place = g.constant([node.known(k, "k") - 1], "int64")
    found = tuple(g.call("take", part, place, axis=axis) for part in sort(node, x, axis))
    values, places = found if keepdim else (g.call("squeeze", part, axis=(axis,)) for part in found)
    return values, places


def median(node: AtenNode, x: Value, dim: int, keepdim: bool) -> tuple[Value, Value]:
    """The lower one of two."""
    count = node.known(node.sizes(x)[node.axis(dim, x.rank)], "the size of the axis")
    return kth(node, x, (count + 1) // 2, dim, keepdim)


def whole_median(node: AtenNode, x: Value) -> Value:
    return median(node, node.graph.reshape(x, (-1,)), 0, False)[0]


SORTING: dict[str, Converter] = {
    "aten.sort.default": sort, "aten.sort.stable": sort, "aten.argsort.default": argsort,
    "aten.argsort.stable": argsort, "aten.topk.default": topk, "aten.kthvalue.default": kth,
    "aten.median.default": whole_median, "aten.median.dim": median, "aten.bucketize.Tensor": bucketize,
    "aten.nonzero.default": nonzero,
}  # fmt: skip
