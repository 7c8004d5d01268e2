"""Gradients of layers, as they occur in the backward graphs of `torch.compile`: convolutions and pools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.layers.nn import LAYOUTS, spatial_rank, spread_over
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.shape import cut, unsqueeze
from baton._src.ir.tensor_info import Dim


def convolution_backward(
    node: AtenNode, grad: Value, x: Value, weight: Value, bias_sizes: Sequence[int] | None, stride: Sequence[int],
    padding: Sequence[int], dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
    wanted: Sequence[bool],
) -> tuple[Value | None, Value | None, Value | None]:  # fmt: skip
    """(towards the data, towards the weight, towards the bias), each where it is wanted."""
    rank = spatial_rank(node, weight)
    walk = _Walk(rank, spread_over(stride, rank), spread_over(padding, rank), spread_over(dilation, rank), groups)
    to_data = to_weight = to_bias = None
    if wanted[0]:
        to_data = walk.along(node, grad, weight, x) if transposed else walk.backward(node, grad, weight, x)
    if wanted[1]:
        kernel = [node.known(d, "the size of the kernel") for d in node.sizes(weight)[2:]]
        to_weight = walk.towards_weight(node, *((x, grad) if transposed else (grad, x)), kernel)
    if wanted[2]:
        to_bias = node.graph.call("sum", grad, axis=(0, *range(2, grad.rank)), keepdims=False)
    return to_data, to_weight, to_bias


class _Walk:
    """How a kernel walks over its data."""

    def __init__(
        self, rank: int, stride: tuple[int, ...], padding: tuple[int, ...], dilation: tuple[int, ...], groups: int
    ) -> None:
        self.rank, self.stride, self.padding, self.dilation, self.groups = rank, stride, padding, dilation, groups

    def forward(self, node: AtenNode, x: Value, weight: Value) -> Value:
        return node.graph.call(
            f"nn.conv{self.rank}d", x, weight, strides=self.stride, padding=self.padding * 2, dilation=self.dilation,
            groups=self.groups, data_layout=LAYOUTS[self.rank][0], kernel_layout=LAYOUTS[self.rank][1],
        )  # fmt: skip

    def along(self, node: AtenNode, grad: Value, weight: Value, x: Value) -> Value:
        """The walk itself, as many steps as there are places; a border as wide as a step leaves room for more."""
        found = self.forward(node, grad, weight)
        for axis, size in enumerate(node.sizes(x)[2:], 2):
            if not node.graph.prover.equal(node.sizes(found)[axis], size):
                found = cut(node, found, axis, 0, size)
        return node.graph.of_shape(found, node.sizes(x))

    def backward(self, node: AtenNode, grad: Value, weight: Value, x: Value) -> Value:
        """The walk turned round. What the last step did not reach is a border, of which as much is made as there may
        be, and kept as much as there is."""
        found = node.graph.call(
            f"nn.conv{self.rank}d_transpose", grad, weight, strides=self.stride, padding=self.padding * 2,
            output_padding=tuple(s - 1 for s in self.stride), dilation=self.dilation, groups=self.groups,
            data_layout=LAYOUTS[self.rank][0], kernel_layout=LAYOUTS[self.rank][2],
        )  # fmt: skip
        for axis, (stride, size) in enumerate(zip(self.stride, node.sizes(x)[2:], strict=True), 2):
            if stride > 1:
                found = cut(node, found, axis, 0, size)
        return node.graph.of_shape(found, node.sizes(x))

    def towards_weight(self, node: AtenNode, grad: Value, x: Value, kernel: Sequence[int]) -> Value:
        """What every place of the kernel met, weighted by the gradient there."""
        g = node.graph
        if self.rank == 1:
            flat = _Walk(2, (1, *self.stride), (0, *self.padding), (1, *self.dilation), self.groups)
            found = flat.towards_weight(node, unsqueeze(node, grad, 2), unsqueeze(node, x, 2), [1, *kernel])
            return g.call("squeeze", found, axis=(2,))
        return g.call(
            f"nn.conv{self.rank}d_backward_weight", grad, x, kernel_size=tuple(kernel), strides=self.stride,
            padding=self.padding * 2, dilation=self.dilation, groups=self.groups,
        )  # fmt: skip


def max_pool_backward(rank: int) -> Converter:
    """What came out of a place goes back there; the places are the last argument."""

    def convert(node: AtenNode, grad: Value, x: Value, *given: Any) -> Value:
        g, shape, places = node.graph, node.sizes(x), given[-1]
        rows = [g.reshape(v, (*node.sizes(v)[:-rank], -1)) for v in (grad, places)]
        zeros = g.broadcast_to(g.scalar(0, x), (*shape[:-rank], math.prod(shape[-rank:])))
        found = g.call("scatter_elements", zeros, rows[1], rows[0], axis=zeros.rank - 1, reduction="add")
        return g.reshape(found, shape)

    return convert


def average_pool_backward(rank: int) -> Converter:
    """Every window gives back to its elements in equal shares."""

    def convert(
        node: AtenNode, grad: Value, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
        ceil_mode: bool, count_include_pad: bool, divisor: int | None,
    ) -> Value:  # fmt: skip
        windows = [spread_over(v, rank) for v in (kernel, stride or kernel, padding)]
        plain = divisor is None and not (ceil_mode and count_include_pad and any(padding))
        if plain and rank == 2 and x.rank == 4:
            sizes, strides, borders = windows
            return node.graph.call(
                "grad.avg_pool2d_backward", grad, x, pool_size=sizes, strides=strides, padding=borders * 2,
                dilation=(1, 1), ceil_mode=bool(ceil_mode), layout="NCHW", count_include_pad=bool(count_include_pad),
            )  # fmt: skip
        shares = [
            _shares_of_windows(node, grad, x, axis, window, bool(count_include_pad), divisor is None)
            for axis, window in enumerate(zip(*windows, strict=True), x.rank - rank)
        ]
        found = _given_back(node, grad, x, shares)
        return found if divisor is None else node.graph.call("divide", found, node.tensor(divisor, x.dtype))

    return convert


def _shares_of_windows(
    node: AtenNode, grad: Value, x: Value, axis: int, window: tuple[int, int, int], is_counted: bool, share: bool
) -> Value:
    """[windows, size]: how much of each window every element is (1 unless `share`). `is_counted`: borders count.

    `window`: how wide it is, how far it steps, how wide borders are.
    """
    kernel, stride, border = window
    g, size = node.graph, node.graph.dims(node.sizes(x)[axis])
    places = g.call("arange", start=0, stop=node.sizes(grad)[axis], step=1, dtype="int64")
    step, wide, width, zero = (g.constant(n, "int64") for n in (stride, border, kernel, 0))
    start = g.call("subtract", g.call("multiply", g.reshape(places, (-1, 1)), step), wide)
    end = g.call("minimum", g.call("add", start, width), g.call("add", size, wide))
    inner = g.call("maximum", start, zero), g.call("minimum", end, size)
    return _within(node, inner, (start, end) if is_counted else inner, node.sizes(x)[axis], share)


def adaptive_average_backward(rank: int) -> Converter:
    """Every part gives back to its elements in equal shares."""

    def convert(node: AtenNode, grad: Value, x: Value) -> Value:
        axes = range(x.rank - rank, x.rank)
        return _given_back(node, grad, x, [_shares(node, node.sizes(grad)[a], node.sizes(x)[a]) for a in axes])

    return convert


def _given_back(node: AtenNode, grad: Value, x: Value, shares: Sequence[Value]) -> Value:
    """A product with a matrix along each of the last axes."""
    g, found = node.graph, grad
    for axis, matrix in enumerate(shares, x.rank - len(shares)):
        order = [a for a in range(x.rank) if a != axis] + [axis]
        turned = g.call("matmul", g.transpose(found, order), g.cast(matrix, x.dtype))
        found = g.transpose(turned, [order.index(a) for a in range(x.rank)])
    return found


def _shares(node: AtenNode, parts: Dim, size: Dim) -> Value:
    """[parts, size]: how much of each part every element is."""
    g = node.graph
    part = g.reshape(g.call("arange", start=0, stop=parts, step=1, dtype="int64"), (parts, 1))
    whole, count, one = g.dims(size), g.dims(parts), g.constant(1, "int64")
    start = g.call("floor_divide", g.call("multiply", part, whole), count)
    ends = g.call("add", g.call("multiply", g.call("add", part, one), whole), g.call("subtract", count, one))
    inner = start, g.call("floor_divide", ends, count)
    return _within(node, inner, inner, size, True)


def _within(node: AtenNode, inner: tuple[Value, Value], counted: tuple[Value, Value], size: Dim, share: bool) -> Value:
    """[parts, size]: 1 from where an inner part starts to before its end, over the length of what is counted."""
    g = node.graph
    place = g.call("arange", start=0, stop=size, step=1, dtype="int64")
    inside = g.call("logical_and", g.call("greater_equal", place, inner[0]), g.call("less", place, inner[1]))
    if not share:
        return g.cast(inside, "float64")
    length = g.cast(g.call("subtract", counted[1], counted[0]), "float64")
    return g.call("divide", g.cast(inside, "float64"), length)


BACKWARD: dict[str, Converter] = {
    "aten.convolution_backward.default": convolution_backward,
    **{f"aten.max_pool{n}d_with_indices_backward.default": max_pool_backward(n) for n in (2, 3)},
    **{f"aten.adaptive_max_pool{n}d_backward.default": max_pool_backward(n) for n in (2, 3)},
    **{f"aten.avg_pool{n}d_backward.default": average_pool_backward(n) for n in (2, 3)},
    **{f"aten._adaptive_avg_pool{n}d_backward.default": adaptive_average_backward(n) for n in (2, 3)},
}
