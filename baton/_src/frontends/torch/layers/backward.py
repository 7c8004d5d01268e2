"""Gradients of layers, as they stand in the backward graphs of `torch.compile`: convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.layers.nn import LAYOUTS, spatial_rank, spread_over
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.shape import cut, unsqueeze
from baton._src.values.tensor import AnyArray


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
        to_data = walk.forward(node, grad, weight) if transposed else walk.backward(node, grad, weight, x)
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

    def backward(self, node: AtenNode, grad: Value, weight: Value, x: Value) -> Value:
        """The walk turned round; what the last step did not reach is a border."""
        left = []
        for axis in range(self.rank):
            size = node.known(node.sizes(x)[axis + 2], "the size of an image")
            kernel = node.known(node.sizes(weight)[axis + 2], "the size of the kernel")
            covered = size + 2 * self.padding[axis] - self.dilation[axis] * (kernel - 1) - 1
            left.append(covered % self.stride[axis])
        return node.graph.call(
            f"nn.conv{self.rank}d_transpose", grad, weight, strides=self.stride, padding=self.padding * 2,
            output_padding=tuple(left), dilation=self.dilation, groups=self.groups,
            data_layout=LAYOUTS[self.rank][0], kernel_layout=LAYOUTS[self.rank][2],
        )  # fmt: skip

    def towards_weight(self, node: AtenNode, grad: Value, x: Value, kernel: Sequence[int]) -> Value:
        """What every place of the kernel met, weighted by the gradient there."""
        g = node.graph
        if self.rank == 1:
            flat = _Walk(2, (1, *self.stride), (0, *self.padding), (1, *self.dilation), self.groups)
            found = flat.towards_weight(node, unsqueeze(node, grad, 2), unsqueeze(node, x, 2), [1, *kernel])
            return g.call("squeeze", found, axis=(2,))
        if self.rank == 2:
            return g.call(
                "nn.conv2d_backward_weight", grad, x, kernel_size=tuple(kernel), strides=self.stride,
                padding=self.padding * 2, dilation=self.dilation, groups=self.groups,
            )  # fmt: skip
        if self.groups != 1:
            node.fail("the gradient of a kernel over three axes and several groups is not supported")
        turned = _Walk(3, self.dilation, self.padding, self.stride, 1)
        swap = (1, 0, 2, 3, 4)
        found = g.transpose(turned.forward(node, g.transpose(x, swap), g.transpose(grad, swap)), swap)
        for axis, size in enumerate(kernel, 2):
            found = cut(node, found, axis, 0, size)
        return found


def max_pool_backward(
    node: AtenNode, grad: Value, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], ceil_mode: bool, places: Value,
) -> Value:  # fmt: skip
    """What came out of a place goes back there."""
    g, shape = node.graph, node.sizes(x)
    rows = [g.reshape(v, (*node.sizes(v)[:-2], -1)) for v in (grad, places)]
    zeros = g.broadcast_to(g.scalar(0, x), (*shape[:-2], shape[-2] * shape[-1]))
    found = g.call("scatter_elements", zeros, rows[1], rows[0], axis=zeros.rank - 1, reduction="add")
    return g.reshape(found, shape)


def average_pool_backward(
    node: AtenNode, grad: Value, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
    ceil_mode: bool, count_include_pad: bool, divisor: int | None,
) -> Value:  # fmt: skip
    if divisor is not None or x.rank != 4:
        node.fail("divisor_override and images without a batch are not supported")
    if ceil_mode and count_include_pad and any(padding):
        node.fail("ceil_mode with padding that counts is not supported", help="use count_include_pad=False")
    return node.graph.call(
        "grad.avg_pool2d_backward", grad, x, pool_size=spread_over(kernel, 2),
        strides=spread_over(stride or kernel, 2), padding=spread_over(padding, 2) * 2, dilation=(1, 1),
        ceil_mode=bool(ceil_mode), layout="NCHW", count_include_pad=bool(count_include_pad),
    )  # fmt: skip


def adaptive_average_backward(node: AtenNode, grad: Value, x: Value) -> Value:
    """Every part gives back to its elements in equal shares: a product with a matrix along each axis."""
    g, found = node.graph, grad
    for axis in (x.rank - 2, x.rank - 1):
        parts, size = (node.known(node.sizes(v)[axis], "the size of an image") for v in (grad, x))
        shares = g.constant(_shares(parts, size), x.dtype)
        order = [a for a in range(x.rank) if a != axis] + [axis]
        turned = g.call("matmul", g.transpose(found, order), shares)
        found = g.transpose(turned, [order.index(a) for a in range(x.rank)])
    return found


def _shares(parts: int, size: int) -> AnyArray:
    """[parts, size]: how much of each part every element is."""
    found = np.zeros((parts, size))
    for part in range(parts):
        start, end = part * size // parts, -(-(part + 1) * size // parts)
        found[part, start:end] = 1 / (end - start)
    return found


BACKWARD: dict[str, Converter] = {
    "aten.convolution_backward.default": convolution_backward,
    "aten.max_pool2d_with_indices_backward.default": max_pool_backward,
    "aten.avg_pool2d_backward.default": average_pool_backward,
    "aten._adaptive_avg_pool2d_backward.default": adaptive_average_backward,
}
