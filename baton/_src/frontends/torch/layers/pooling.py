"""Pools: maximum, average, adaptive."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.layers.nn import LAYOUTS, batched, spread_over, unbatched
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.tensor_info import Dim


def max_pool(rank: int) -> Converter:
    def convert(
        node: AtenNode, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        dilation: Sequence[int], ceil_mode: bool,
    ) -> Value:  # fmt: skip
        return _pool(node, x, "max", rank, kernel, stride, padding, dilation, ceil_mode)

    return convert


def max_pool_with_places(rank: int) -> Converter:
    """(maxima, nothing): where they are is for unpooling and for gradients."""

    def convert(node: AtenNode, x: Value, *geometry: object) -> tuple[Value, None]:
        if 1 in node.used:
            node.fail("the places of the maxima are not supported")
        return max_pool(rank)(node, x, *geometry), None

    return convert


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
