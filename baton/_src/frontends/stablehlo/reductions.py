"""Reductions over axes and over windows, and sorting. What a region computes is recognised by its operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.stablehlo.elementwise import combined, direction
from baton._src.frontends.stablehlo.node import Converter, Node
from baton._src.frontends.stablehlo.shapes import padded
from baton._src.frontends.stablehlo.text import Operation, Region
from baton._src.ir.tensor_info import Dim

_REDUCED = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "bitwise_and": "all", "bitwise_or": "any",
}  # fmt: skip
_OPERATORS = {"and": "bitwise_and", "or": "bitwise_or"}
_NEUTRAL = {"add": 0, "multiply": 1, "bitwise_and": 1, "bitwise_or": 0}


def operator_of(node: Node) -> str:
    """The operator by which elements are combined."""
    if "applies" in node.op.words:
        name = node.op.words[node.op.words.index("applies") + 1]
    else:
        body = node.op.regions[0].body
        name = body[0].name if len(body) == 2 else ""
    plain = name.removeprefix("stablehlo.")
    found = _OPERATORS.get(plain, plain)
    if found not in _REDUCED:
        node.fail("only sums, products, extrema, `and` and `or` are reduced")
    return found


def over_axes(g: GraphBuilder, op: str, x: Value, axes: Sequence[int]) -> Value:
    if x.dtype.is_bool:
        name = "all" if op in ("bitwise_and", "multiply", "minimum") else "any"
    else:
        name = _REDUCED[op]
    return g.call(name, x, axis=tuple(axes), keepdims=False) if axes else x


def _is_neutral(op: str, start: Value) -> bool:
    """Whether `start` changes nothing."""
    if start.array is None:
        return False
    kind, number = start.array.dtype, start.array.reshape(-1)[0]
    if op in _NEUTRAL:
        return bool(number == _NEUTRAL[op])
    if kind == np.bool_:
        return bool(number) is (op == "minimum")
    limits = np.iinfo(kind) if kind.kind in "iu" else None
    ends = (limits.min, limits.max) if limits is not None else (-np.inf, np.inf)
    return bool(number == ends[op == "minimum"])


def reduce(node: Node) -> list[Value]:
    count = len(node.operands) // 2
    axes = node.attr("dimensions")
    if count == 2:
        return _extremum_and_place(node, axes[0]) if len(axes) == 1 else node.fail("places are told along one axis")
    if count != 1:
        node.fail(f"{count} tensors are reduced together")
    x, start = node.operands
    op = operator_of(node)
    found = over_axes(node.graph, op, x, axes)
    return [found if _is_neutral(op, start) else combined(node.graph, op, found, start)]


def _extremum_and_place(node: Node, axis: int) -> list[Value]:
    """The greatest or least elements, and which they are: the second operand counts along the axis."""
    g, (x, places) = node.graph, node.operands[:2]
    maker = node.maker(places)
    counts = maker is not None and maker.name.endswith("iota") and axis == _counted_axis(maker)
    asked = (direction(op) for op in node.op.regions[0].body if op.name == "stablehlo.compare")
    first = next((d for d in asked if d in ("GT", "GE", "LT", "LE")), None)
    if not counts or first is None:
        node.fail("two tensors are reduced together for argmax and argmin only")
    name = "max" if first in ("GT", "GE") else "min"
    place = g.call(f"arg{name}", x, axis=axis, keepdims=False)
    return [g.call(name, x, axis=(axis,), keepdims=False), g.cast(place, places.dtype)]


def _counted_axis(iota: Operation) -> int | None:
    return iota.attrs.get("dim", iota.attrs.get("iota_dimension"))


def reduce_window(node: Node) -> Value:
    """Pooling: running sums and extrema along an axis, pooling of NHWC, or all windows one after another."""
    g, (x, start) = node.graph, node.operands
    op, rank = operator_of(node), x.rank
    window, ones = node.attr("window_dimensions"), [1] * rank
    steps, spread = node.attr("window_strides", ones), node.attr("window_dilations", ones)
    widths = np.broadcast_to(node.attr("padding", np.zeros((rank, 2), int)), (rank, 2)).tolist()
    inner = [d - 1 for d in node.attr("base_dilations", ones)]
    if any(d != 1 for d in spread):
        node.fail("windows with holes are not supported")
    running = _running_axis(node, x, window, steps, widths)
    if running is not None and op == "add" and not any(inner) and _is_neutral(op, start):
        return g.call("cumsum", x, axis=running, dtype=x.dtype)
    whole = padded(node, x, start, widths, inner)
    axes = [k for k in range(rank) if window[k] != 1 or steps[k] != 1]
    if op in ("add", "maximum") and x.dtype.is_float and len(axes) <= 3 and _is_neutral(op, start):
        return _pooled(g, op, whole, axes, window, steps)
    return _of_windows(g, op, whole, start, window, steps)


def _running_axis(
    node: Node, x: Value, window: Sequence[int], steps: Sequence[int], widths: Sequence[Sequence[int]]
) -> int | None:
    """The axis along which each window holds all elements so far, if there is one."""
    wide = [k for k, size in enumerate(window) if size != 1]
    shape = node.shape(x)
    is_running = len(wide) == 1 and window[wide[0]] == shape[wide[0]] and set(steps) == {1}
    if is_running and all(list(w) == ([window[k] - 1, 0] if k == wide[0] else [0, 0]) for k, w in enumerate(widths)):
        return wide[0]
    return None


def _pooled(g: GraphBuilder, op: str, x: Value, axes: list[int], window: Sequence[int], steps: Sequence[int]) -> Value:
    """Other axes are batch and channels; the sum is the mean times the size of the window."""
    if not axes:
        return x
    others = [k for k in range(x.rank) if k not in axes]
    order = [*others, *axes]
    moved = g.transpose(x, order)
    kept = moved.known_shape()[: len(others)]
    sizes = moved.known_shape()[len(others) :]
    count: Dim = 1
    for size in kept:
        count = count * size
    pool, strides = tuple(window[k] for k in axes), tuple(steps[k] for k in axes)
    name = f"nn.{'max' if op == 'maximum' else 'avg'}_pool{len(axes)}d"
    found = g.call(name, g.reshape(moved, (1, count, *sizes)), pool_size=pool, strides=strides)
    if op == "add":
        found = g.call("multiply", found, g.scalar(float(np.prod(pool)), found))
    back = g.reshape(found, (*kept, *found.known_shape()[2:]))
    return g.transpose(back, [order.index(k) for k in range(x.rank)])


def _of_windows(g: GraphBuilder, op: str, x: Value, start: Value, window: Sequence[int], steps: Sequence[int]) -> Value:
    wide = g.call("sliding_window", x, axis=0, window_shape=tuple(window), strides=tuple(steps))
    found = over_axes(g, op, wide, range(x.rank, 2 * x.rank))
    return found if _is_neutral(op, start) else combined(g, op, found, start)


def sort(node: Node) -> list[Value]:
    """By the first operand; the others are put in its order. NaN counts as the greatest."""
    g, axis = node.graph, node.attr("dimension", node.operands[0].rank - 1)
    region: Region = node.op.regions[0]
    last = region.body[-2]
    if last.name != "stablehlo.compare" or direction(last) not in ("LT", "GT"):
        node.fail("only the order of the first operand's elements is supported")
    is_down, key = direction(last) == "GT", node.operands[0]
    if len(node.operands) == 1:
        return [g.call("sort", key, axis=axis, descending=is_down)]
    order = g.call("argsort", key, axis=axis, descending=is_down, dtype="int64")
    return [g.call("gather_elements", x, order, axis=axis) for x in node.operands]


def top_k(node: Node) -> list[Value]:
    g, (x,), k = node.graph, node.operands, node.attr("k")
    op = "topk" if k > 0 else "dynamic_topk"  # to the first one 0 means all
    return list(g.call_many(op, x, k=k, axis=-1, ret_type="both", largest=True, dtype="int32"))


REDUCTIONS: dict[str, Converter] = {
    "stablehlo.reduce": reduce, "stablehlo.reduce_window": reduce_window, "stablehlo.sort": sort, "chlo.top_k": top_k,
}  # fmt: skip
