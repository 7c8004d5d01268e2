"""Where the elements of windows lie: the places of maxima, and what takes windows back to where they came from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.nn.windows import Window, steps_of
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT64

MOST_TAPS = 64
"""Taps of a window up to which an image of known size is the sum of its taps, each an expression of its own."""


def _sizes(node: OnnxNode, x: Value) -> tuple[Dim, ...]:
    """All sizes of an operand, which may be open."""
    if x.shape is None:
        node.fail("the rank must be known", code="onnx-dynamic")
    return x.shape


def places_of_maxima(node: OnnxNode, window: Window, pooled: Value) -> Value:
    """int64 indices into the flattened input, of the first maximum of each window: the least place of an element that
    equals it.
    """
    g, x = node.graph, node[0]
    sizes = _sizes(node, x)
    images, area = sizes[0] * sizes[1], math.prod(sizes[2:])
    steps = {"strides": window.strides, "dilation": window.dilations, "begins": window.padding[: window.rank]}
    found = g.call("nn.max_pool_places", x, pooled, pool_size=window.kernel, **steps)
    if int(node.attr("storage_order", 0)):
        found = _by_columns(node, found, sizes[2:])
    count = g.call("arange", start=0, stop=images, step=1, dtype=INT64)
    base = g.call("multiply", g.reshape(count, (*sizes[:2], *(1 for _ in window.kernel))), g.dims(area))
    return g.call("add", found, base)


def _by_columns(node: OnnxNode, places: Value, spatial: Sequence[Dim]) -> Value:
    """Column-major places for row-major ones."""
    g, total, step = node.graph, None, math.prod(spatial)
    for size in reversed(spatial):
        step = step // size
        term = g.call("multiply", g.call("floor_mod", places, g.dims(size)), g.dims(step))
        places = g.call("floor_divide", places, g.dims(size))
        total = term if total is None else g.call("add", total, term)
    assert total is not None
    return total


def max_unpool(node: OnnxNode) -> Value:
    """Values go back to the places MaxPool noted; the rest is zero."""
    g, x = node.graph, node[0]
    sizes, kernel = _sizes(node, x), tuple(node.needed("kernel_shape"))
    rank = len(kernel)
    if len(sizes) != rank + 2:
        node.fail(f"its kernel_shape has {rank} numbers, its input {len(sizes) - 2} spatial axes", code="op-shape")
    strides, _, pads = steps_of(node, rank)
    plain = [(sizes[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + rank] for i in range(rank)]
    zeros = g.broadcast_to(g.scalar(0, x), (math.prod((*sizes[:2], *plain)),))
    flat = g.call("scatter_elements", zeros, g.reshape(node[1], (-1,)), g.reshape(x, (-1,)), axis=0)
    found = g.reshape(flat, (*sizes[:2], *plain))
    wanted = node.constant(2, "output_shape")
    if wanted is None:
        return found
    missing = [int(wanted[i + 2]) - p if isinstance(p, int) else None for i, p in enumerate(plain)]
    if None in missing:
        node.fail("with an output_shape, the sizes must be known", code="onnx-dynamic")
    widths = [0] * 4 + [w for count in missing for w in (0, count)]
    return g.call("nn.pad", found, pad_width=tuple(widths), pad_value=0.0)


def col2im(node: OnnxNode) -> Value:
    """Columns [N, C * taps, windows] summed back into an image, whose sizes may be open."""
    g, x = node.graph, node[0]
    image, block = node.sizes(1, "image_shape"), node.ints("block_shape", 2) or ()
    rank = len(image)
    if x.shape is None or x.rank != 3 or len(block) != rank:
        node.fail(f"it takes columns of three axes and a block of {rank}, not {x} and {list(block)}")
    strides, dilations, pads = steps_of(node, rank)
    window = Window(block, strides, dilations, pads)
    out = [
        (image[i] + pads[i] + pads[i + rank] - (block[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(rank)
    ]
    (batch, columns, _), taps, area = x.shape, math.prod(block), math.prod(image)
    x = g.of_shape(x, (batch, columns, math.prod(out)))
    if taps <= MOST_TAPS and all(isinstance(size, int) for size in (*image, *out)):
        return _summed_by_taps(node, g.reshape(x, (batch, columns // taps, *block, *out)), image, window)
    images, elements = batch * (columns // taps), taps * math.prod(out)
    # What lies in the padding is added to one place behind the image, and dropped.
    places = g.reshape(_places_of_taps(node, image, out, window, area), (1, elements))
    zeros = g.broadcast_to(g.scalar(0, x), (images, area + 1))
    flat = g.reshape(x, (images, elements))
    target = g.broadcast_to(places, (images, elements))
    summed = g.call("scatter_elements", zeros, target, flat, axis=1, reduction="add")
    kept = g.call("strided_slice", summed, axes=(1,), begin=(0,), end=(area,), strides=(1,))
    return g.reshape(kept, (batch, columns // taps, *image))


def _summed_by_taps(node: OnnxNode, taps: Value, image: Sequence[Any], window: Window) -> Value:
    """An image as the sum of all taps of its windows, [N, C, taps.., windows..], each moved by where it is in a window.

    With strides the points of each phase are summed by themselves: taps an even number of strides apart meet there.
    """
    g, rank, strides = node.graph, len(image), window.strides
    batch, channels, *_ = shape = _sizes(node, taps)
    wide = [
        -(-(size + before + after) // stride)
        for size, stride, before, after in zip(image, strides, window.padding, window.padding[rank:])
    ]
    if window.kernel == strides and set(window.dilations) == {1}:  # nothing meets
        phases = _padded(node, taps, [(0, 0)] * rank + [(0, w - n) for w, n in zip(wide, shape[2 + rank :])])
    else:
        sums = [_phase(node, taps, phase, wide, window) for phase in product(*map(range, strides))]
        phases = g.reshape(g.call("stack", sums, axis=2), (batch, channels, *strides, *wide))
    order = [axis for i in range(rank) for axis in (2 + rank + i, 2 + i)]
    whole = g.reshape(
        g.call("permute_dims", phases, axes=(0, 1, *order)),
        (batch, channels, *(w * s for w, s in zip(wide, strides))),
    )
    begin = tuple(window.padding[:rank])
    if not any(begin) and [w * s for w, s in zip(wide, strides)] == list(image):
        return whole
    end = tuple(b + size for b, size in zip(begin, image))
    axes = tuple(range(2, 2 + rank))
    return g.call("strided_slice", whole, axes=axes, begin=begin, end=end, strides=(1,) * rank)


def _phase(node: OnnxNode, taps: Value, phase: Sequence[int], wide: Sequence[int], window: Window) -> Value:
    """The points of one phase of the strides, `wide` of them along each axis."""
    g, rank = node.graph, len(phase)
    batch, channels, *rest = _sizes(node, taps)
    found: Value | None = None
    for tap in product(*map(range, window.kernel)):
        at = [(t * d - p, s) for t, d, p, s in zip(tap, window.dilations, phase, window.strides)]
        if any(place % stride for place, stride in at):
            continue
        axes, end = tuple(range(2, 2 + rank)), tuple(t + 1 for t in tap)
        one = g.call("strided_slice", taps, axes=axes, begin=tap, end=end, strides=(1,) * rank)
        moved = [(0, 0)] * rank + [
            (place // stride, w - n - place // stride) for (place, stride), w, n in zip(at, wide, rest[rank:])
        ]
        one = _padded(node, one, moved)
        found = one if found is None else g.call("add", found, one)
    shape = (batch, channels, *wide)
    return g.broadcast_to(g.scalar(0, taps), shape) if found is None else g.reshape(found, shape)


def _padded(node: OnnxNode, x: Value, widths: Sequence[tuple[Any, Any]]) -> Value:
    """Zeros around all axes but the first two, if any."""
    flat = (0,) * 4 + tuple(width for pair in widths for width in pair)
    return node.graph.call("nn.pad", x, pad_width=flat, pad_value=0.0) if any(flat) else x


def _places_of_taps(node: OnnxNode, image: Sequence[Dim], out: Sequence[Dim], window: Window, area: Dim) -> Value:
    """[taps, windows]: row-major places of the elements of each window; `area` in the padding."""
    g = node.graph
    places, inside = g.constant(np.zeros((1, 1), np.int64)), g.constant(np.ones((1, 1), bool))
    taps: int = 1
    windows: Dim = 1
    for axis, (size, count) in enumerate(zip(image, out, strict=True)):
        offsets = np.arange(window.kernel[axis], dtype=np.int64) * window.dilations[axis] - window.padding[axis]
        starts = g.call("arange", start=0, stop=count, step=1, dtype=INT64)
        starts = g.call("multiply", starts, g.constant(np.int64(window.strides[axis])))
        at = g.call("add", g.constant(offsets.reshape(1, -1, 1, 1)), g.reshape(starts, (1, 1, 1, count)))
        within = g.call("logical_and", g.call("greater_equal", at, g.scalar(0, at)), g.call("less", at, g.dims(size)))
        before = (taps, 1, windows, 1)
        taps, windows = taps * window.kernel[axis], windows * count
        places = g.call("add", g.call("multiply", g.reshape(places, before), g.dims(size)), at)
        places = g.reshape(places, (taps, windows))
        inside = g.reshape(g.call("logical_and", g.reshape(inside, before), within), (taps, windows))
    return g.call("where", inside, places, g.dims(area))


PLACES: dict[str, Converter] = {
    "MaxUnpool": max_unpool, "Col2Im": col2im,
}  # fmt: skip
