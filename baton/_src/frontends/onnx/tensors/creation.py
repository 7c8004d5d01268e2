"""Tensors made from nothing but numbers: constants, ranges, and the triangles and diagonals of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.folding import is_large
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import dtype_of
from baton._src.frontends.onnx.narrow import wide
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import FLOAT64, INT64


def constant(node: OnnxNode) -> Value:
    for name, content in node.attributes.items():
        if name in ("value", "sparse_value"):
            return node.constant_tensor(content)
        if name in ("value_string", "value_strings"):
            return node.strings(content)
        if name in ("value_float", "value_floats"):
            return node.graph.constant(np.array(content, np.float32))
        if name in ("value_int", "value_ints"):
            return node.graph.constant(np.array(content, np.int64))
    node.fail("only constants that are tensors, numbers or strings are supported")


def constant_of_shape(node: OnnxNode) -> Value:
    fill = node.attr("value")
    array = np.zeros(1, np.float32) if fill is None else fill
    if array.size != 1:
        node.fail(f"its value has {array.size} elements, it must be one number", code="op-shape")
    dims = node.sizes(0, "the shape")
    if all(isinstance(d, int) for d in dims):
        sizes = [d for d in dims if isinstance(d, int)]
        if any(d < 0 for d in sizes):
            node.fail(f"it is to have the shape {sizes}, sizes are 0 or more", code="op-shape")
        if not is_large(sizes):
            return node.graph.constant(np.full(sizes, array.reshape(-1)[0], array.dtype))
    return node.graph.broadcast_to(node.graph.constant(array.reshape(())), dims)


def range_(node: OnnxNode) -> Value:
    arrays = [node[i].array for i in range(3)]
    dtype = node[0].dtype
    if all(a is not None for a in arrays):
        numbers = [a.reshape(-1)[0].item() for a in arrays if a is not None]
        if not numbers[2] or not np.isfinite(numbers).all():
            node.fail(f"a range from {numbers[0]} to {numbers[1]} in steps of {numbers[2]} never ends")
        if not is_large([max(0, int((numbers[1] - numbers[0]) / numbers[2]))]):
            return node.graph.constant(np.arange(*numbers).astype(dtype.numpy))
    ends = _ends(node)
    if ends is None:
        return _counted_range(node)
    g, (start, limit, delta) = node.graph, ends
    counted = dtype if dtype.is_int else INT64
    if delta < 0:  # as many as lie the other way, counted down
        steps = g.call("arange", start=0, stop=start - limit, step=-delta, dtype=counted)
        return g.cast(g.call("subtract", g.cast(g.reshape(node[0], ()), counted), steps), dtype)
    return g.cast(g.call("arange", start=start, stop=limit, step=delta, dtype=counted), dtype)


def _ends(node: OnnxNode) -> tuple[Any, Any, int] | None:
    """(start, limit, step) of a range of whole numbers whose step is known; floats are known sizes.

    A number that only a run tells counts as a size, which is never negative: the greater end is brought to the other
    where it may lie on the wrong side, and the range is empty.
    """
    g, start, limit = node.graph, node[0], node[1]
    steps = node[2].whole_numbers()
    step = None if steps is None else steps.reshape(-1)[0]
    if not isinstance(step, int):
        return None
    if start.dtype.is_float:
        if start.whole_numbers() is None or limit.whole_numbers() is None:
            return None
        start, limit = g.cast(start, INT64), g.cast(limit, INT64)
    if step > 0 and limit.contents() is None:
        limit = g.call("maximum", limit, start)
    if step < 0 and start.contents() is None:
        start = g.call("maximum", start, limit)
    ends = [g.numbers(start), g.numbers(limit)]
    found: list[Any] = [e.reshape(-1)[0] for e in ends if e is not None]
    return (found[0], found[1], step) if len(found) == 2 else None


def _counted_range(node: OnnxNode) -> Value:
    """start + delta * (0, 1, ...) as often as a run finds: of floats, and where the step's sign is not known."""
    g = node.graph
    start, limit, delta = (g.reshape(wide(node, node[k]), ()) for k in range(3))
    if g.language.name == "relay":  # its operator takes tensors
        return g.cast(g.call("arange", start, limit, delta, dtype=start.dtype), node[0].dtype)
    span = g.call("subtract", g.cast(limit, FLOAT64), g.cast(start, FLOAT64))
    count = g.call("ceil", g.call("divide", span, g.cast(delta, FLOAT64)))
    count = g.call("maximum", count, g.constant(0.0, FLOAT64))
    endless = g.call("equal", g.cast(delta, FLOAT64), g.constant(0.0, FLOAT64))  # a size of -1 is an error
    lengths = g.numbers(g.cast(g.call("where", endless, g.constant(-1.0, FLOAT64), count), INT64))
    assert lengths is not None
    steps = g.call("arange", start=0, stop=lengths.reshape(-1)[0], step=1, dtype=INT64)
    return g.cast(g.call("add", start, g.call("multiply", g.cast(steps, start.dtype), delta)), node[0].dtype)


def trilu(node: OnnxNode) -> Value:
    g, x, k = node.graph, node[0], node.optional(1)
    upper = bool(node.attr("upper", 1))
    diagonal = np.zeros(1, np.int64) if k is None else k.array
    if diagonal is not None:
        return g.call("triu" if upper else "tril", x, k=int(diagonal.reshape(-1)[0]))
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    beyond = _beyond(node, x.shape[-2:])
    kept = g.call("greater_equal" if upper else "less_equal", beyond, g.reshape(g.cast(node[1], INT64), ()))
    return g.call("where", kept, x, g.scalar(0, x))


def eye_like(node: OnnxNode) -> Value:
    """Ones where the column's number is the row's and `k` more."""
    g, dims = node.graph, node[0].shape
    if dims is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    dtype = dtype_of(node.attr("dtype"), node.title) if "dtype" in node.attributes else node[0].dtype
    beyond = _beyond(node, dims)
    return g.cast(g.call("equal", beyond, g.scalar(int(node.attr("k", 0)), beyond)), dtype)


def _beyond(node: OnnxNode, dims: Sequence[Dim]) -> Value:
    """int64 [rows, columns]: how far each element of a matrix lies to the right of the main diagonal."""
    g = node.graph
    rows, columns = (g.call("arange", start=0, stop=d, step=1, dtype=INT64) for d in dims)
    return g.call("subtract", columns, g.reshape(rows, (dims[0], 1)))


CREATION: dict[str, Converter] = {
    "Constant": constant, "ConstantOfShape": constant_of_shape, "Range": range_, "Trilu": trilu, "EyeLike": eye_like,
}  # fmt: skip
