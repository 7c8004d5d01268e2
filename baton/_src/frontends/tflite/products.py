"""Convolutions and matrix products.

Of bytes, sums of products of the integers without their zero points are exact in int32, and scaled once:

    x = sx * (qx - zx),  w = sw * (qw - zw)      sum(x * w) = sx * sw * sum((qx - zx) * (qw - zw))

Where data are real and weights are not, or data have 16 bits, the real numbers are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node, dequantised
from baton._src.frontends.tflite.windows import SAME, border
from baton._src.values.dtype import FLOAT32, INT32


def _summed(node: Node, data: int, weight: int, product: Callable[[Value, Value], Value], bias: int) -> Value:
    """The product of two operands plus a bias along the last axis, as the result holds it."""
    g = node.graph
    left, right = node.quantised(data), node.quantised(weight)
    kinds = {node[place].dtype for place in (data, weight)}
    added = node.optional(bias)
    if left is None or right is None or left.scale.size > 1 or any(kind.bits != 8 for kind in kinds):
        total = product(node.real(data), node.real(weight))
        if added is not None:
            total = g.call("add", total, _real_bias(node, bias, added))
    else:
        sums = product(node.centred(data), node.centred(weight))
        if added is not None:
            sums = g.call("add", sums, g.cast(added, INT32))
        scale = (left.scale * right.scale).astype(np.float32)
        total = g.call("multiply", g.cast(sums, FLOAT32), g.constant(scale if scale.size > 1 else scale.reshape(())))
    return node.stored(node.activated(total))


def _real_bias(node: Node, place: int, bias: Value) -> Value:
    """A bias as real numbers; one of 64 bits is rounded."""
    found = node.quantised(place)
    if found is None:
        return node.graph.cast(bias, FLOAT32)
    if bias.array is None:
        return dequantised(node.graph, node.graph.cast(bias, INT32), found)
    return node.graph.constant(((bias.array - found.zero_point) * found.scale).astype(np.float32))


def _strides(node: Node) -> tuple[int, int]:
    return int(node.option("StrideH", 1)), int(node.option("StrideW", 1))


def _dilations(node: Node) -> tuple[int, int]:
    return int(node.option("DilationHFactor", 1)), int(node.option("DilationWFactor", 1))


def _size(node: Node, index: int, axis: int, what: str) -> int:
    found = node.shape(index)[axis]
    if not isinstance(found, int):
        node.fail(f"{what} must be known")
    return found


def _kernel(node: Node, first: int) -> list[int]:
    """The spatial sizes of the kernel, operand 1, whose first spatial axis is `first`."""
    rank = len(node.shape(1)) - 2
    return [_size(node, 1, first + axis, "the size of the kernel") for axis in range(rank)]


def convolution(node: Node) -> Value:
    """Data NHWC, kernels OHWI; groups where kernels take fewer channels than there are."""
    kernel, strides, dilations = _kernel(node, 1), _strides(node), _dilations(node)
    channels, taken = _size(node, 0, 3, "the number of channels"), _size(node, 1, 3, "the number of channels")
    return _summed(node, 0, 1, lambda x, w: node.graph.call(
        "nn.conv2d", x, node.graph.transpose(w, (1, 2, 3, 0)), strides=strides, dilation=dilations,
        padding=border(node, node.shape()[1:3], kernel, strides, dilations), groups=channels // taken,
        data_layout="NHWC", kernel_layout="HWIO",
    ), 2)  # fmt: skip


def depthwise(node: Node) -> Value:
    """Kernels are (1, height, width, channels * multiplier), a channel's results side by side."""
    kernel, strides, dilations = _kernel(node, 1), _strides(node), _dilations(node)
    channels, results = _size(node, 0, 3, "the number of channels"), _size(node, 1, 3, "the number of channels")
    return _summed(node, 0, 1, lambda x, w: node.graph.call(
        "nn.conv2d", x, node.graph.reshape(w, (*kernel, 1, results)), strides=strides, dilation=dilations,
        padding=border(node, node.shape()[1:3], kernel, strides, dilations), groups=channels,
        data_layout="NHWC", kernel_layout="HWIO",
    ), 2)  # fmt: skip


def convolution_3d(node: Node) -> Value:
    """Data NDHWC, kernels DHWIO."""
    kernel, strides = _kernel(node, 0), (int(node.option("StrideD", 1)), *_strides(node))
    dilations = (int(node.option("DilationDFactor", 1)), *_dilations(node))
    channels, taken = _size(node, 0, 4, "the number of channels"), _size(node, 1, 3, "the number of channels")
    return _summed(node, 0, 1, lambda x, w: node.graph.call(
        "nn.conv3d", x, w, strides=strides, dilation=dilations, groups=channels // taken,
        padding=border(node, node.shape()[1:4], kernel, strides, dilations), data_layout="NDHWC", kernel_layout="DHWIO",
    ), 2)  # fmt: skip


def transposed(node: Node) -> Value:
    """Operands are the shape of the result, kernels OHWI, data NHWC and a bias."""
    g, kernel, strides = node.graph, _kernel(node, 1), _strides(node)
    wanted = node.constants(0, "the shape of the result")[1:3]
    sizes = [_size(node, 2, 1 + axis, "the size of the image") for axis in range(2)]
    reached = [(size - 1) * stride + taps for size, stride, taps in zip(sizes, strides, kernel)]
    cut = [max(have - want, 0) if node.option("Padding", SAME) == SAME else 0 for have, want in zip(reached, wanted)]
    more = [want - (have - less) for have, want, less in zip(reached, wanted, cut)]
    over = [min(extra, 0) for extra in more]  # a result smaller than all that is reached, without a border

    def product(x: Value, w: Value) -> Value:
        found = g.call(
            "nn.conv2d_transpose", g.transpose(x, (0, 3, 1, 2)), g.transpose(w, (3, 0, 1, 2)), strides=strides,
            padding=[*(c // 2 for c in cut), *(c - c // 2 for c in cut)],
            output_padding=[max(extra, 0) for extra in more], data_layout="NCHW", kernel_layout="IOHW",
        )  # fmt: skip
        if any(over):
            found = g.call("strided_slice", found, axes=(2, 3), begin=(0, 0), end=tuple(wanted), strides=(1, 1))
        return g.transpose(found, (0, 2, 3, 1))

    return _summed(node, 2, 1, product, 3)


def fully_connected(node: Node) -> Value:
    """x times the transposed weight (outputs, inputs); without `KeepNumDims` the result is a matrix."""
    g, shape = node.graph, node.shape()
    outputs, inputs = node.shape(1)
    if node.option("WeightsFormat", 0):
        node.fail("its weights are stored in a shuffled format")
    keeps = bool(node.option("KeepNumDims", False))

    def product(x: Value, w: Value) -> Value:
        rows = x if keeps or (len(shape) == 2 and shape[1] == inputs) else g.reshape(x, (-1, inputs))
        return g.call("matmul", rows, g.transpose(w, (1, 0)))

    found = _summed(node, 0, 1, product, 2)
    return g.reshape(found, (*shape[:-1], outputs)) if keeps else found


def batch_matmul(node: Node) -> Value:
    g = node.graph

    def product(x: Value, y: Value) -> Value:
        sides = [(x, node.option("AdjX", False)), (y, node.option("AdjY", False))]
        return g.call("matmul", *(_swapped(node, v) if swaps else v for v, swaps in sides))

    return _summed(node, 0, 1, product, 2)


def _swapped(node: Node, x: Value) -> Value:
    axes: Sequence[int] = range(x.rank)
    return node.graph.transpose(x, (*axes[:-2], axes[-1], axes[-2]))


PRODUCTS: dict[str, Converter] = {
    "CONV_2D": convolution, "DEPTHWISE_CONV_2D": depthwise, "CONV_3D": convolution_3d, "TRANSPOSE_CONV": transposed,
    "FULLY_CONNECTED": fully_connected, "BATCH_MATMUL": batch_matmul,
}  # fmt: skip
