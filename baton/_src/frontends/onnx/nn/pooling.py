"""Pools: averages, maxima and norms of windows, and over all spatial axes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.narrow import in_float32
from baton._src.frontends.onnx.nn.places import places_of_maxima
from baton._src.frontends.onnx.nn.windows import LAYOUTS, Window, framed, window_of
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ops.dims import DimMath
from baton._src.ops.windows import window_extent


def average_pool(node: OnnxNode) -> Value:
    with_border, x = bool(node.attr("count_include_pad", 0)), node[0]
    framed_x, window = framed(node, x, tuple(node.needed("kernel_shape")), 0.0)
    mean = pool(node, framed_x, "avg", window, {"count_include_pad": with_border})
    if framed_x is x or with_border:
        return mean
    ones = node.graph.broadcast_to(node.graph.scalar(1, x), (1, 1, *(x.shape or ())[2:]))
    inside = pool(node, framed(node, ones, window.kernel, 0.0)[0], "avg", window, {"count_include_pad": True})
    return node.graph.call("divide", mean, inside)


def pool(node: OnnxNode, x: Value, kind: str, window: Window, extra: dict[str, bool]) -> Value:
    """The pool of `kind` (`max`, `avg`) over `x`."""
    layouts = LAYOUTS.get(window.rank)
    if layouts is None:
        node.fail(f"pools over {window.rank} spatial axes are not supported")
    if node.attr("ceil_mode", 0):
        window = _within(x, window)
    return node.graph.call(
        f"nn.{kind}_pool{window.rank}d", x, pool_size=window.kernel, strides=window.strides,
        dilation=window.dilations, padding=window.padding, ceil_mode=bool(node.attr("ceil_mode", 0)),
        layout=layouts[0], **extra,
    )  # fmt: skip


def _within(x: Value, window: Window) -> Window:
    """The window without what hangs over an image smaller than it: `ceil_mode` lets one window of 640 x 640 stand for
    all of a 2 x 2 image."""
    kernel, strides = list(window.kernel), list(window.strides)
    for axis, size in enumerate((x.shape or ())[2:]):
        padded = window.padding[axis] or window.padding[axis + window.rank] or window.dilations[axis] != 1
        if isinstance(size, int) and not padded and size < kernel[axis] < size + strides[axis]:
            kernel[axis] = strides[axis] = size
    return replace(window, kernel=tuple(kernel), strides=tuple(strides))


def global_pool(kind: str, op: str) -> Converter:
    """The reduction `op` over all spatial axes; in Relay the pool of this kind, for which external compilers look."""

    def convert(node: OnnxNode) -> Value:
        g, spatial = node.graph, node.rank() - 2
        if g.language.name != "relay" or spatial not in LAYOUTS:
            return g.call(op, node[0], axis=tuple(range(2, spatial + 2)), keepdims=True)
        if spatial == 2:
            return g.call(f"nn.global_{kind}_pool2d", node[0])
        return g.call(f"nn.adaptive_{kind}_pool{spatial}d", node[0], output_size=(1,) * spatial)

    return convert


def lp_pool(node: OnnxNode) -> Value:
    """The p-norm of each window: the mean of |x|**p times the window's size, to the power of 1/p."""
    g, p = node.graph, float(node.attr("p", 2))
    powered, window = framed(node, _power(node, node[0], p), tuple(node.needed("kernel_shape")), 0.0)
    mean = _mean_of_whole(node, powered, window)
    total = g.call("multiply", mean, g.scalar(math.prod(window.kernel), mean))
    return g.call("power", total, g.scalar(1 / p, total))


def _mean_of_whole(node: OnnxNode, x: Value, window: Window) -> Value:
    """The mean of windows, zeros counted where they hang over the border, as they may with `ceil_mode`: `x` gets as
    wide a border as they can reach, and of the result only the windows that `ceil_mode` counts are kept."""
    if not node.attr("ceil_mode", 0):
        return pool(node, x, "avg", window, {"count_include_pad": True})
    g, rank, shape = node.graph, window.rank, x.shape
    if shape is None:
        node.fail("the rank must be known", code="onnx-dynamic")
    begins, ends = window.padding[:rank], window.padding[rank:]
    widths = [0] * 4 + [w for b, e, s in zip(begins, ends, window.strides, strict=True) for w in (b, e + s - 1)]
    wide = g.call("nn.pad", x, pad_width=tuple(widths), pad_value=0.0)
    plain = replace(node, attributes={**node.attributes, "ceil_mode": 0})
    found = pool(plain, wide, "avg", replace(window, padding=(0,) * (2 * rank)), {"count_include_pad": True})
    geometry = zip(shape[2:], window.kernel, window.strides, window.dilations, begins, ends, strict=True)
    prover = DimMath(g.prover)
    kept = [window_extent(prover, size, k, s, d, b, e, True) for size, k, s, d, b, e in geometry]
    axes = tuple(range(2, 2 + rank))
    return g.call("strided_slice", found, axes=axes, begin=(0,) * rank, end=tuple(kept), strides=(1,) * rank)


def _power(node: OnnxNode, x: Value, p: float) -> Value:
    if p == 2:
        return node.graph.call("multiply", x, x)
    return node.graph.call("power", node.graph.call("abs", x), node.graph.scalar(p, x))


def global_lp_pool(node: OnnxNode) -> Value:
    g, p = node.graph, float(node.attr("p", 2))
    total = g.call("sum", _power(node, node[0], p), axis=tuple(range(2, node.rank())), keepdims=True)
    return g.call("power", total, g.scalar(1 / p, total))


def max_pool(node: OnnxNode) -> list[Value]:
    kernel = tuple(node.needed("kernel_shape"))
    if len(node.outputs) < 2 or not node.outputs[1]:
        low = -np.inf if node[0].dtype.is_float else node[0].dtype.int_range[0]
        x, window = framed(node, node[0], kernel, low)
        return [pool(node, x, "max", window, {})]
    window = window_of(node, kernel)
    return [pooled := pool(node, node[0], "max", window, {}), places_of_maxima(node, window, pooled)]


POOLING: dict[str, Converter] = {
    "AveragePool": average_pool, "GlobalAveragePool": global_pool("avg", "mean"),
    "GlobalMaxPool": global_pool("max", "max"), "MaxPool": max_pool, "LpPool": in_float32(lp_pool),
    "GlobalLpPool": in_float32(global_lp_pool),
}  # fmt: skip
