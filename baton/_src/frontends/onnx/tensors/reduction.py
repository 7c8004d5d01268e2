"""Reductions and scans over axes."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.narrow import in_float32
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim


def _axes(node: OnnxNode) -> tuple[int, ...] | None:
    """The axes to reduce: None means all, () means none (`noop_with_empty_axes`)."""
    axes = node.ints("axes", 1)
    if not axes:
        return () if node.attr("noop_with_empty_axes", 0) else None
    return axes


Step = Callable[[OnnxNode, Value], Value]


def _same(node: OnnxNode, x: Value) -> Value:
    return x


def _square(node: OnnxNode, x: Value) -> Value:
    return node.graph.call("multiply", x, x)


def _abs(node: OnnxNode, x: Value) -> Value:
    return node.graph.call("abs", x)


def _log(node: OnnxNode, x: Value) -> Value:
    return node.graph.call("log", x)


def _sqrt(node: OnnxNode, x: Value) -> Value:
    return node.graph.call("sqrt", x)


def in_floats(convert: Callable[[OnnxNode], Value]) -> Converter:
    """Of integers, whose results are real numbers: computed as such and cut to integers. Narrow floats are widened."""

    def converted(node: OnnxNode) -> Value:
        g, x = node.graph, node[0]
        if x.dtype.is_float:
            return in_float32(convert)(node)
        node.inputs[0] = g.cast(x, "float64")
        return g.cast(convert(node), x.dtype)

    return converted


def reduction(op: str, before: Step = _same, after: Step = _same) -> Callable[[OnnxNode], Value]:
    """after(op(before(x)))"""

    def convert(node: OnnxNode) -> Value:
        axes, x = _axes(node), before(node, node[0])
        if axes != ():
            x = node.graph.call(op, x, axis=axes, keepdims=bool(node.attr("keepdims", 1)))
        return after(node, x)

    return convert


def arg_reduction(op: str) -> Converter:
    def convert(node: OnnxNode) -> Value:
        g, x, axis = node.graph, node[0], node.axis(0)
        keepdims = bool(node.attr("keepdims", 1))
        if not node.attr("select_last_index", 0):
            return g.cast(g.call(op, x, axis=axis, keepdims=keepdims), "int64")
        if x.shape is None:
            node.fail("select_last_index needs the size of the axis", code="onnx-dynamic")
        found = g.cast(g.call(op, g.call("flip", x, axis=axis), axis=axis, keepdims=keepdims), "int64")
        return g.call("subtract", g.dims(x.shape[axis] - 1), found)

    return convert


def cumulative(op: str) -> Converter:
    def convert(node: OnnxNode) -> Value:
        g, x = node.graph, node[0]
        axis_array = node.constant(1, "axis")
        if axis_array is None or axis_array.size != 1:
            node.fail("it needs one axis", help="give it as input 1")
        axis = int(axis_array.item())
        if node.attr("reverse", 0):
            x = g.call("flip", x, axis=axis)
        out = g.call(op, x, axis=axis, exclusive=bool(node.attr("exclusive", 0)))
        return g.call("flip", out, axis=axis) if node.attr("reverse", 0) else out

    return convert


def top_k(node: OnnxNode) -> list[Value]:
    g, x, axis = node.graph, node[0], node.axis(-1)
    k = int(node.attr("k")) if "k" in node.attributes else node.size(1, "k")
    size = None if x.shape is None else x.shape[axis]
    if isinstance(k, int) and (k < 0 or (isinstance(size, int) and k > size)):
        node.fail(f"the {k} largest of {size} elements are requested")
    options = {"axis": axis, "ret_type": "both", "largest": bool(node.attr("largest", 1)), "dtype": "int64"}
    if isinstance(k, int) and k > 0:  # to "topk" 0 means all
        return list(g.call_many("topk", x, k=k, **options))
    if g.language.name == "relax":
        return list(g.call_many("dynamic_topk", x, k=k, **options))
    values, indices = g.call_many("topk", x, k=-1, **options)  # all, of which as many are taken as a run asks for
    first = {"axes": (axis,), "begin": (0,), "end": (k,), "strides": (1,)}
    return [_of_length(node, g.call("strided_slice", part, **first), axis, k) for part in (values, indices)]


def _of_length(node: OnnxNode, x: Value, axis: int, count: Dim) -> Value:
    """`x`, whose axis is to be this long: where there are fewer than asked for, that is an error of the run."""
    shape = x.shape
    return x if shape is None else node.graph.of_shape(x, (*shape[:axis], count, *shape[axis + 1 :]))


def determinant(node: OnnxNode) -> Value:
    """[..., n, n] to [...]: the determinant of every matrix."""
    return node.graph.call("linalg.det", node[0])


REDUCTION: dict[str, Converter] = {
    "ReduceSum": reduction("sum"), "ReduceMean": reduction("mean"), "ReduceMax": reduction("max"),
    "ReduceMin": reduction("min"), "ReduceProd": reduction("prod"), "ReduceL1": reduction("sum", _abs),
    "ReduceL2": in_floats(reduction("sum", _square, _sqrt)), "ReduceSumSquare": reduction("sum", _square),
    "ReduceLogSum": in_floats(reduction("sum", after=_log)), "ReduceLogSumExp": in_floats(reduction("log_sum_exp")),
    "ArgMax": arg_reduction("argmax"), "ArgMin": arg_reduction("argmin"), "CumSum": cumulative("cumsum"),
    "CumProd": cumulative("cumprod"), "TopK": top_k, "Det": determinant,
}  # fmt: skip
