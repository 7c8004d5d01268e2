"""Sorting and searching."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar
from baton._src.frontends.torch.operators.shape import cut, unsqueeze
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
    """(the `k` greatest or least elements, in order, their places); Relay sorts all where only a run tells how many."""
    g, axis = node.graph, node.axis(dim, x.rank)
    if not x.rank:
        return x, g.constant(0, "int64")
    options = {"k": k, "axis": axis, "ret_type": "both", "largest": bool(largest), "dtype": "int64"}
    if isinstance(k, int) and k > 0:
        return g.call_many("topk", x, is_ascend=not largest, **options)
    if g.language.name == "relax":
        return g.call_many("dynamic_topk", x, **options)
    return tuple(cut(node, part, axis, 0, k) for part in sort(node, x, axis, bool(largest)))


def searched(node: AtenNode, edges: Value, x: Value, right: bool, out_int32: bool) -> Value:
    found = node.graph.call("searchsorted", edges, x, right=bool(right), dtype="int32" if out_int32 else "int64")
    return node.graph.cast(found, node.dtype)


def bucketize(node: AtenNode, x: Value | Scalar, edges: Value, *, out_int32: bool, right: bool) -> Value:
    a, b = node.promoted(edges, x)
    return searched(node, a, b, right, out_int32)


def searched_tensor(
    node: AtenNode, edges: Value, x: Value | Scalar, *, out_int32: bool, right: bool, side: str | None,
    sorter: Value | None,
) -> Value:  # fmt: skip
    """Where `x` belongs among edges; rows of edges are compared with all of a row of `x`."""
    g = node.graph
    if sorter is not None:
        edges = g.call("gather_elements", edges, sorter, axis=edges.rank - 1)
    a, b = node.promoted(edges, x)
    behind = right or side == "right"
    if edges.rank == 1:
        return searched(node, a, b, behind, out_int32)
    shape = node.sizes(b)
    wanted = g.reshape(b, (*shape, 1))
    before = g.call("less_equal" if behind else "less", unsqueeze(node, a, a.rank - 1), wanted)
    if b.dtype.is_float:
        before = g.call("logical_or", before, g.call("isnan", wanted))  # which belongs behind all numbers
    return g.call("sum", g.cast(before, node.dtype), axis=(before.rank - 1,), keepdims=False)


def kth(node: AtenNode, x: Value, k: Dim, dim: int, keepdim: bool) -> tuple[Value, Value]:
    """The k-th least along an axis, counted from 1, and its place."""
    if not x.rank:
        return x, node.graph.constant(0, "int64")
    g, axis = node.graph, node.axis(dim, x.rank)
    place = g.constant([node.known(k, "k") - 1], "int64")
    found = tuple(g.call("take", part, place, axis=axis) for part in sort(node, x, axis))
    values, places = found if keepdim else (g.call("squeeze", part, axis=(axis,)) for part in found)
    return values, places


def median(node: AtenNode, x: Value, dim: int, keepdim: bool) -> tuple[Value, Value]:
    """The lower one of two; the first NaN where there is one, which sorting puts behind all numbers."""
    if not x.rank:
        return x, node.graph.constant(0, "int64")
    g, axis = node.graph, node.axis(dim, x.rank)
    count = node.sizes(x)[axis]
    ordered, places = sort(node, x, axis)
    found = [g.call("take", part, g.dims([(count - 1) // 2]), axis=axis) for part in (ordered, places)]
    if x.dtype.is_float:
        last = g.call("take", ordered, g.dims([count - 1]), axis=axis)
        unknown = g.call("isnan", last)
        first = g.call("argmax", g.cast(g.call("isnan", x), "int32"), axis=axis, keepdims=True)
        instead = (last, g.cast(first, "int64"))
        found = [g.call("where", unknown, a, b) for a, b in zip(instead, found, strict=True)]
    values, at = found if keepdim else (g.call("squeeze", part, axis=(axis,)) for part in found)
    return values, at


def whole_median(node: AtenNode, x: Value) -> Value:
    return median(node, node.graph.reshape(x, (-1,)), 0, False)[0]


SORTING: dict[str, Converter] = {
    "aten.sort.default": sort, "aten.sort.stable": sort, "aten.argsort.default": argsort,
    "aten.argsort.stable": argsort, "aten.topk.default": topk, "aten.kthvalue.default": kth,
    "aten.median.default": whole_median, "aten.median.dim": median, "aten.bucketize.Tensor": bucketize,
    "aten.bucketize.Scalar": bucketize, "aten.searchsorted.Tensor": searched_tensor,
    "aten.searchsorted.Scalar": searched_tensor,
}  # fmt: skip
