"""Pools: maximum, average, adaptive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.layers.nn import LAYOUTS, batched, spread_over, unbatched
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.shape import cut
from baton._src.ir.tensor_info import Dim


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
        if rank != 2 or ceil_mode or not x.dtype.is_float:
            node.fail("the places of maxima are supported over two axes of floats, without ceil_mode")
        windows = spread_over(kernel, 2), spread_over(stride or kernel, 2)
        return found, _places(node, x, found, *windows, spread_over(padding, 2), spread_over(dilation, 2))

    return convert


def _places(
    node: AtenNode, x: Value, pooled: Value, kernel: tuple[int, ...], stride: tuple[int, ...],
    padding: tuple[int, ...], dilation: tuple[int, ...],
) -> Value:  # fmt: skip
    """For every window the place of the first of its greatest elements: which tap it is, and where that lies."""
    g, sizes = node.graph, [node.known(d, "the size of an image") for d in node.sizes(x)[-2:]]
    counts = [node.known(d, "the size of the result") for d in node.sizes(pooled)[-2:]]
    widths = (0, 0) * (x.rank - 2) + tuple(p for border in padding for p in (border, border))
    wide = g.call("nn.pad", x, pad_width=widths, pad_value=-np.inf) if any(padding) else x
    first, taps = x.rank - 2, []
    for down in range(kernel[0]):
        for right in range(kernel[1]):
            part = wide
            for axis, tap in enumerate((down, right)):
                start = tap * dilation[axis]
                part = cut(node, part, first + axis, start, start + (counts[axis] - 1) * stride[axis] + 1, stride[axis])
            taps.append(part)
    chosen = g.cast(g.call("argmax", g.call("stack", tuple(taps), axis=0), axis=0, keepdims=False), "int64")
    corners = [np.arange(n) * s - p for n, s, p in zip(counts, stride, padding, strict=True)]
    downwards, sidewards = np.divmod(np.arange(len(taps)), kernel[1])
    steps = g.constant(downwards * dilation[0] * sizes[1] + sidewards * dilation[1], "int64")
    return g.call("add", g.call("take", steps, chosen, axis=0), g.constant(corners[0][:, None] * sizes[1] + corners[1]))


def average_pool(rank: int) -> Converter:
    def convert(
        node: AtenNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        ceil_mode: bool, count_include_pad: bool, divisor: int | None = None,
    ) -> Value:  # fmt: skip
        if divisor is not None:
            node.fail("divisor_override is not supported", help="scale the result of a plain average instead")
        if ceil_mode and count_include_pad and any(padding):
            node.fail("ceil_mode with padding that counts is not supported", help="use count_include_pad=False")
        return _pool(
            node, x, "avg", rank, kernel, stride, padding, (1,), ceil_mode, count_include_pad=count_include_pad
        )

    return convert


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
    """(maxima, nothing)"""

    def convert(node: AtenNode, x: Value, size: Sequence[Dim | None]) -> tuple[Value, None]:
        if 1 in node.used:
            node.fail("the places of the maxima are not supported")
        return adaptive("max", rank)(node, x, size), None

    return convert


def adaptive(kind: str, rank: int) -> Converter:
    """A pool into as many equal parts as asked for; a None keeps a size."""

    def convert(node: AtenNode, x: Value, size: Sequence[Dim | None]) -> Value:
        g, own = node.graph, node.sizes(x)[-rank:]
        wanted = tuple(o if s is None else s for o, s in zip(own, size, strict=True))
        if all(isinstance(w, int) and w == 1 for w in wanted):
            return g.call({"avg": "mean"}.get(kind, kind), x, axis=tuple(range(x.rank - rank, x.rank)), keepdims=True)
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
