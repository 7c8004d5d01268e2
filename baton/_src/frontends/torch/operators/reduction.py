"""Reductions over axes, and scans along them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import DataType

Axes = Sequence[int] | int | None


def reduced(node: AtenNode, op: str, x: Value, dims: Axes, keepdim: bool) -> Value:
    """`op` over axes; a tensor of rank 0 is its own reduction."""
    if not x.rank:
        return x
    return node.graph.call(op, x, axis=node.axes(dims, x.rank), keepdims=bool(keepdim))


def folding(op: str) -> Converter:
    """A sum, product or mean, in the dtype of the result."""

    def convert(node: AtenNode, x: Value, dims: Axes = None, keepdim: bool = False, **_: Any) -> Value:
        return reduced(node, op, node.graph.cast(x, node.dtype), dims, keepdim)

    return convert


def extremum(op: str) -> Converter:
    """`amax`, `amin`, and `max`, `min` over everything."""

    def convert(node: AtenNode, x: Value, dims: Axes = None, keepdim: bool = False) -> Value:
        if x.dtype.is_bool:
            return reduced(node, {"max": "any", "min": "all"}[op], x, dims, keepdim)
        return reduced(node, op, x, dims, keepdim)

    return convert


def extremum_along(op: str) -> Converter:
    """(values, places) along one axis."""

    def convert(node: AtenNode, x: Value, dim: int, keepdim: bool = False) -> tuple[Value, Value]:
        return extremum(op)(node, x, dim, keepdim), place(f"arg{op}")(node, x, dim, keepdim)

    return convert


def place(op: str) -> Converter:
    """Where the extremum is, the first of several; over everything where no axis is named."""

    def convert(node: AtenNode, x: Value, dim: int | None = None, keepdim: bool = False) -> Value:
        g = node.graph
        if not x.rank:
            return g.constant(0, "int64")
        given = g.cast(x, "int32") if x.dtype.is_bool else x
        if dim is None:
            found = g.cast(g.call(op, g.reshape(given, (-1,)), axis=0, keepdims=False), "int64")
            return g.reshape(found, (1,) * x.rank) if keepdim else found
        return g.cast(g.call(op, given, axis=node.axis(dim, x.rank), keepdims=bool(keepdim)), "int64")

    return convert


def quantifier(op: str) -> Converter:
    def convert(node: AtenNode, x: Value, dims: Axes = None, keepdim: bool = False) -> Value:
        g = node.graph
        found = x if x.dtype.is_bool else g.call("not_equal", x, g.scalar(0, x))
        return g.cast(reduced(node, op, found, dims, keepdim), node.dtype)

    return convert


def spread(root: bool) -> Converter:
    """Variance or deviation, divided by the count less the correction."""

    def convert(
        node: AtenNode, x: Value, dims: Any = None, unbiased: bool = True, keepdim: bool = False, **given: Any
    ) -> Value:
        correction: Any = given["correction"] if "correction" in given else int(unbiased)
        if isinstance(dims, bool):  # `var(x, unbiased)`
            correction, dims = int(dims), None
        return moments(node, x, dims, 1 if correction is None else correction, given.get("keepdim", keepdim), root)[0]

    return convert


def spread_and_mean(root: bool) -> Converter:
    def convert(node: AtenNode, x: Value, dims: Axes = None, *, correction: Any = None, keepdim: bool = False) -> Any:
        return moments(node, x, dims, 1 if correction is None else correction, keepdim, root)

    return convert


def moments(node: AtenNode, x: Value, dims: Axes, correction: float, keepdim: bool, root: bool) -> tuple[Value, Value]:
    """(variance or its root, mean), of narrow floats in float32"""
    g, x, axes = node.graph, node.widened(x), node.axes(dims, x.rank)
    count: Any = 1
    for axis in axes if x.rank else ():
        count = node.sizes(x)[axis] * count
    mean = reduced(node, "mean", x, axes, True)
    centred = g.call("subtract", x, mean)
    total = reduced(node, "sum", g.call("multiply", centred, centred), axes, keepdim)
    found = g.call("divide", total, _divisor(node, count, correction, x.dtype))
    plain = mean if keepdim or not x.rank else g.call("squeeze", mean, axis=axes)
    return g.cast(_root(node, found, 2.0) if root else found, node.dtype), g.cast(plain, node.dtype)


def _divisor(node: AtenNode, count: Dim, correction: float, dtype: DataType) -> Value:
    """Fewer elements than are corrected for leave nothing to divide by: the variance is no number."""
    if isinstance(count, int):
        return node.tensor(max(count - correction, 0), dtype)
    left = node.graph.call("subtract", node.tensor(count, dtype), node.tensor(correction, dtype))
    return node.graph.call("maximum", left, node.tensor(0, dtype))


def vector_norm(node: AtenNode, x: Value, order: Any = 2, dims: Axes = None, keepdim: bool = False, **_: Any) -> Value:
    wide = node.widened(node.graph.cast(x, node.dtype))
    return node.graph.cast(_norm(node, wide, 2.0 if order is None else float(order), dims, keepdim), node.dtype)


def _norm(node: AtenNode, wide: Value, order: float, dims: Axes, keepdim: bool) -> Value:
    g, size = node.graph, node.graph.call("abs", wide)
    if order in (float("inf"), float("-inf")):
        return reduced(node, "max" if order > 0 else "min", size, dims, keepdim)
    if order == 0:
        return reduced(node, "sum", g.cast(g.call("not_equal", wide, g.scalar(0, wide)), wide.dtype), dims, keepdim)
    if order == 1:
        return reduced(node, "sum", size, dims, keepdim)
    if order == 2:
        return _root(node, reduced(node, "sum", g.call("multiply", wide, wide), dims, keepdim), order)
    total = reduced(node, "sum", g.call("power", size, g.scalar(order, wide)), dims, keepdim)
    return _root(node, total, order) if order > 0 else g.call("power", total, g.scalar(1 / order, wide))


def _root(node: AtenNode, x: Value, order: float) -> Value:
    """The root of a sum of powers. At zero PyTorch takes its slope to be zero, where that of a root is infinite."""
    g = node.graph
    nothing = g.call("equal", x, g.scalar(0, x))
    safe = g.call("where", nothing, g.scalar(1, x), x)
    root = g.call("sqrt", safe) if order == 2 else g.call("power", safe, g.scalar(1 / order, x))
    return g.call("where", nothing, g.scalar(0, x), root)


def log_sum_exp(node: AtenNode, x: Value, dims: Axes, keepdim: bool = False) -> Value:
    return reduced(node, "log_sum_exp", node.graph.cast(x, node.dtype), node.axes(dims, x.rank), keepdim)


def cumulative(op: str) -> Converter:
    def convert(node: AtenNode, x: Value, dim: int, **_: Any) -> Value:
        wide = node.graph.cast(x, node.dtype)
        return node.graph.call(op, wide, axis=node.axis(dim, x.rank)) if x.rank else wide

    return convert


REDUCTION: dict[str, Converter] = {
    "aten.sum.default": folding("sum"), "aten.sum.dim_IntList": folding("sum"), "aten.mean.default": folding("mean"),
    "aten.mean.dim": folding("mean"), "aten.prod.default": folding("prod"), "aten.prod.dim_int": folding("prod"),
    "aten.amax.default": extremum("max"), "aten.amin.default": extremum("min"), "aten.max.default": extremum("max"),
    "aten.min.default": extremum("min"), "aten.max.dim": extremum_along("max"), "aten.min.dim": extremum_along("min"),
    "aten.argmax.default": place("argmax"), "aten.argmin.default": place("argmin"),
    **{f"aten.{op}.{kind}": quantifier(op) for op in ("all", "any") for kind in ("default", "dim", "dims")},
    **{f"aten.var.{kind}": spread(False) for kind in ("default", "dim", "correction")},
    **{f"aten.std.{kind}": spread(True) for kind in ("default", "dim", "correction")},
    "aten.var_mean.correction": spread_and_mean(False), "aten.std_mean.correction": spread_and_mean(True),
    "aten.linalg_vector_norm.default": vector_norm, "aten.norm.ScalarOpt_dim": vector_norm,
    "aten.norm.Scalar": vector_norm, "aten.logsumexp.default": log_sum_exp, "aten.cumsum.default": cumulative("cumsum"),
    "aten.cumprod.default": cumulative("cumprod"),
}  # fmt: skip
