"""Pools: maximum, average, adaptive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.layers.nn import LAYOUTS, batched, spread_over, unbatched
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.padding import pad
from baton._src.ir.tensor_info import Dim
from baton._src.ops.dims import DimMath
from baton._src.ops.windows import window_extent
from baton._src.values.tensor import AnyArray


def max_pool(rank: int) -> Converter:
    def convert(
        node: AtenNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        dilation: Sequence[int], ceil_mode: bool,
    ) -> Value:  # fmt: skip
        return _pool(node, x, "max", rank, kernel, stride, padding, dilation, ceil_mode)

    return convert


def max_pool_with_places(rank: int) -> Converter:
    """(maxima, where they are in their image, counted row by row, if the program takes that)"""

    def convert(
        node: AtenNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        dilation: Sequence[int], ceil_mode: bool,
    ) -> tuple[Value, Value | None]:  # fmt: skip
        found = max_pool(rank)(node, x, kernel, stride, padding, dilation, ceil_mode)
        if 1 not in node.used:
            return found, None
        windows = (spread_over(given, rank) for given in (kernel, stride or kernel, padding, dilation))
        return found, _places(node, x, found, *windows)

    return convert


def _places(
    node: AtenNode, x: Value, pooled: Value, kernel: tuple[int, ...], stride: tuple[int, ...],
    padding: tuple[int, ...], dilation: tuple[int, ...],
) -> Value:  # fmt: skip
    """For every window the place of the first of its greatest elements."""
    images = (batched(node, v, len(kernel)) for v in (x, pooled))
    steps = {"pool_size": kernel, "strides": stride, "dilation": dilation, "begins": padding}
    return unbatched(node, node.graph.call("nn.max_pool_places", *images, **steps), x)


def _corners(node: AtenNode, count: Dim, stride: int, border: int) -> Value:
    """Where windows start along an axis."""
    corners = node.graph.call("arange", start=-border, stop=count * stride - border, step=stride, dtype="int64")
    return node.graph.of_shape(corners, (count,))


def _bordered(node: AtenNode, x: Value, before: Sequence[int], whole: Sequence[Dim], number: float) -> Value:
    """Borders of a number in front of the last axes, and behind them up to these sizes; what is beyond is cut off."""
    widths: list[Dim] = []
    for border, total, size in reversed(list(zip(before, whole, node.sizes(x)[-len(whole) :], strict=True))):
        widths += [border, total - border - size]
    return pad(node, x, widths, "constant", number)


def average_pool(rank: int) -> Converter:
    def convert(
        node: AtenNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        ceil_mode: bool, count_include_pad: bool, divisor: int | None = None,
    ) -> Value:  # fmt: skip
        if divisor is not None:
            return _shares(node, _sums(node, x, rank, kernel, stride, padding, ceil_mode), divisor)
        if ceil_mode and count_include_pad and any(padding):
            return _with_borders(node, x, rank, kernel, stride, padding)
        return _pool(
            node, x, "avg", rank, kernel, stride, padding, (1,), ceil_mode, count_include_pad=count_include_pad
        )

    return convert


def _counts(
    node: AtenNode, x: Value, rank: int, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    ceil_mode: bool,
) -> list[Dim]:  # fmt: skip
    """How many windows there are along each axis."""
    math, images = DimMath(node.graph.prover), node.sizes(x)[-rank:]
    windows = (spread_over(given, rank) for given in (kernel, stride or kernel, padding))
    return [window_extent(math, n, k, s, 1, p, p, ceil_mode) for n, k, s, p in zip(images, *windows, strict=True)]


def _sums(
    node: AtenNode, x: Value, rank: int, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    ceil_mode: bool,
) -> Value:  # fmt: skip
    """The sums of all windows, which may hang over the border; means of whole numbers are floats."""
    g, sizes, strides = node.graph, spread_over(kernel, rank), spread_over(stride or kernel, rank)
    counts = _counts(node, x, rank, kernel, stride, padding, ceil_mode)
    whole = [(n - 1) * s + k for n, s, k in zip(counts, strides, sizes, strict=True)]
    fine = x if x.dtype.is_float else g.cast(x, "float64")
    wide = _bordered(node, fine, spread_over(padding, rank), whole, 0)
    mean = _pool(node, wide, "avg", rank, sizes, strides, (0,) * rank, (1,), False, count_include_pad=True)
    mean = g.of_shape(mean, (*node.sizes(x)[:-rank], *counts))
    sums = g.call("multiply", mean, g.scalar(int(np.prod(sizes)), mean))
    return sums if x.dtype.is_float else g.cast(g.call("round", sums), x.dtype)


def _shares(node: AtenNode, sums: Value, divisors: Value | int) -> Value:
    """Of whole numbers without what is behind the point."""
    return node.graph.call("divide" if sums.dtype.is_float else "trunc_divide", sums, node.tensor(divisors, sums.dtype))


def _with_borders(
    node: AtenNode, x: Value, rank: int, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int]
) -> Value:
    """Means where borders count as elements, but not what windows reach beyond them."""
    g, images, elements = node.graph, node.sizes(x)[-rank:], node.graph.constant(1, "int64")
    counts = _counts(node, x, rank, kernel, stride, padding, True)
    windows = (spread_over(given, rank) for given in (kernel, stride or kernel, padding))
    for n, image, k, s, p in zip(counts, images, *windows, strict=True):
        starts = _corners(node, n, s, p)
        ends = g.call("minimum", g.call("add", starts, g.constant(k, "int64")), g.dims(image + p))
        elements = g.call("multiply", g.reshape(elements, (*node.sizes(elements), 1)), g.call("subtract", ends, starts))
    return _shares(node, _sums(node, x, rank, kernel, stride, padding, True), elements)


def _pool(
    node: AtenNode, x: Value, kind: str, rank: int, kernel: Sequence[int], stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], ceil_mode: bool, **extra: bool,
) -> Value:  # fmt: skip
    borders = spread_over(padding, rank)
    found = node.graph.call(
        f"nn.{kind}_pool{rank}d", batched(node, x, rank), pool_size=spread_over(kernel, rank),
        strides=spread_over(stride or kernel, rank), padding=borders + borders, dilation=spread_over(dilation, rank),
        ceil_mode=bool(ceil_mode), layout=LAYOUTS[rank][0], **extra,
    )  # fmt: skip
    return unbatched(node, found, x)


def adaptive_max(rank: int) -> Converter:
    """(maxima, where they are in their image, if the program takes that)"""

    def convert(node: AtenNode, x: Value, size: Sequence[Dim | None]) -> tuple[Value, Value | None]:
        found = adaptive("max", rank)(node, x, size)
        if 1 not in node.used:
            return found, None
        counts = [node.known(d, "the size of the result") for d in node.sizes(found)[-rank:]]
        images = [node.known(d, "the size of an image") for d in node.sizes(x)[-rank:]]
        wide, windows, origins = _side_by_side(node, x, counts, images)
        places = _places(node, wide, found, windows, windows, (0,) * rank, (1,) * rank)
        return found, node.graph.call("take", node.graph.constant(origins, "int64"), places, axis=0)

    return convert


def _side_by_side(
    node: AtenNode, x: Value, counts: Sequence[int], images: Sequence[int]
) -> tuple[Value, tuple[int, ...], AnyArray]:
    """The uneven windows of adaptive pools side by side, all as wide as the widest; their sizes; where all elements
    come from. Narrower ones have their last element several times, which changes neither maxima nor first places."""
    windows, origins = [], np.zeros((), np.int64)
    for axis, (n, image) in enumerate(zip(counts, images, strict=True), x.rank - len(counts)):
        turns = np.arange(n)
        starts, ends = turns * image // n, -(-(turns + 1) * image // n)
        window = int((ends - starts).max())
        along = np.minimum(starts[:, None] + np.arange(window), ends[:, None] - 1).reshape(-1)
        x = node.graph.call("take", x, node.graph.constant(along, "int64"), axis=axis)
        windows.append(window)
        origins = np.add.outer(origins * image, along)
    return x, tuple(windows), origins.reshape(-1)


def adaptive(kind: str, rank: int) -> Converter:
    """A pool into as many equal parts as asked for; a None keeps a size."""

    def convert(node: AtenNode, x: Value, size: Sequence[Dim | None]) -> Value:
        g, own = node.graph, node.sizes(x)[-rank:]
        wanted = tuple(o if s is None else s for o, s in zip(own, size, strict=True))
        pooled = [a for a in range(rank) if not g.prover.equal(own[a], wanted[a])]
        ones = [isinstance(w, int) and w == 1 for w in wanted]
        is_named = g.language.name == "relay" and all(ones)  # as external compilers look for it
        if not is_named and all(ones[a] for a in pooled):
            axes = tuple(x.rank - rank + a for a in pooled)
            return g.call({"avg": "mean"}.get(kind, kind), x, axis=axes, keepdims=True) if axes else x
        sizes = tuple(node.known(w, "the size of the result") for w in wanted)
        image = batched(node, x, rank)
        found = g.call(f"nn.adaptive_{kind}_pool{rank}d", image, output_size=sizes, layout=LAYOUTS[rank][0])
        return unbatched(node, found, x)

    return convert


POOLING: dict[str, Converter] = {
    **{f"aten.max_pool{n}d.default": max_pool(n) for n in (1, 2, 3)},
    **{f"aten.max_pool{n}d_with_indices.default": max_pool_with_places(n) for n in (2, 3)},
    **{f"aten.avg_pool{n}d.default": average_pool(n) for n in (1, 2, 3)},
    **{f"aten.adaptive_avg_pool{n}d.default": adaptive("avg", n) for n in (1, 2, 3)},
    **{f"aten.adaptive_max_pool{n}d.default": adaptive_max(n) for n in (1, 2, 3)},
    **{f"aten._adaptive_avg_pool{n}d.default": adaptive("avg", n) for n in (2, 3)},
}
