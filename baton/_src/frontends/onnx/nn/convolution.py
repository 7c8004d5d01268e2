"""Convolutions: plain, transposed, deformable."""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.nn.windows import (
    LAYOUTS,
    Window,
    check_spatial_axes,
    framed,
    halves,
    steps_of,
    window_of,
)
from baton._src.frontends.onnx.node import Converter, OnnxNode


def kernel_of(node: OnnxNode, index: int = 1) -> tuple[int, ...]:
    """The spatial sizes of the kernel, which is operand `index`."""
    shape = node[index].shape
    if shape is None or not all(isinstance(d, int) for d in shape[2:]):
        node.fail("the kernel's spatial sizes must be known", code="onnx-dynamic")
    found = tuple(d for d in shape[2:] if isinstance(d, int))
    said = node.ints("kernel_shape")
    if said and said != found:
        node.fail(f"its kernel_shape is {list(said)}, but its weights have the spatial sizes {list(found)}")
    return found


def _add_bias(node: OnnxNode, x: Value, bias: Value | None) -> Value:
    return x if bias is None else node.graph.call("nn.bias_add", x, node.of_channels(x, bias))


def conv(node: OnnxNode) -> Value:
    x, window = framed(node, node[0], kernel_of(node), 0.0)
    return _add_bias(node, convolve(node, x, node[1], window), node.optional(2))


def convolve(node: OnnxNode, x: Value, weight: Value, window: Window) -> Value:
    """The convolution of `x` without bias."""
    layouts = LAYOUTS.get(window.rank)
    if layouts is None:
        node.fail(f"convolutions over {window.rank} spatial axes are not supported")
    return node.graph.call(
        f"nn.conv{window.rank}d", _of_channels(node, x, weight), weight, strides=window.strides, padding=window.padding,
        dilation=window.dilations, groups=int(node.attr("group", 1)), data_layout=layouts[0], kernel_layout=layouts[1],
    )  # fmt: skip


def _of_channels(node: OnnxNode, x: Value, weight: Value) -> Value:
    """`x`, whose channels are to be as many as the weight takes: known here, or checked at run time."""
    if not x.shape or not weight.shape or isinstance(x.shape[1], int):
        return x
    channels = weight.shape[1] * int(node.attr("group", 1))
    return node.graph.of_shape(x, (x.shape[0], channels, *x.shape[2:]))


def deform_conv(node: OnnxNode) -> Value:
    """Offsets move the taps of a convolution, a mask weighs them."""
    window = window_of(node, kernel_of(node))
    if window.rank != 2:
        node.fail(f"deformable convolutions over {window.rank} spatial axes are not supported")
    out = node.graph.call(
        "nn.deformable_conv2d", node[0], node[2], node[1], node.optional(4), strides=window.strides,
        padding=window.padding, dilation=window.dilations, groups=int(node.attr("group", 1)),
        deformable_groups=int(node.attr("offset_group", 1)),
    )  # fmt: skip
    return _add_bias(node, out, node.optional(3))


def conv_transpose(node: OnnxNode) -> Value:
    window = window_of(node, kernel_of(node)) if node.attr("auto_pad", "NOTSET") == "NOTSET" else _transposed(node)
    layouts = LAYOUTS.get(window.rank)
    if layouts is None:
        node.fail(f"convolutions over {window.rank} spatial axes are not supported")
    groups, channels = int(node.attr("group", 1)), node[0].shape[1] if node[0].shape else None
    if isinstance(channels, int) and channels % groups:
        node.fail(f"{groups} groups do not divide its {channels} channels", code="op-shape")
    padding, extra = _transposed_padding(node, window)
    out = node.graph.call(
        f"nn.conv{window.rank}d_transpose", node[0], node[1], strides=window.strides, padding=padding,
        output_padding=extra, dilation=window.dilations, groups=groups,
        data_layout=layouts[0], kernel_layout=layouts[2],
    )  # fmt: skip
    return _add_bias(node, out, node.optional(2))


def _transposed(node: OnnxNode) -> Window:
    """auto_pad of a transposed convolution: output size = input size * stride, the output_padding counted in."""
    kernel = kernel_of(node)
    rank = len(kernel)
    check_spatial_axes(node, rank)
    strides, dilations, _ = steps_of(node, rank)
    begins, ends = [], []
    for size, stride, dilation, extra in zip(kernel, strides, dilations, _output_padding(node, rank), strict=True):
        total = max((size - 1) * dilation + 1 + extra - stride, 0) if node.attr("auto_pad") != "VALID" else 0
        begin, end = halves(total, upper=node.attr("auto_pad") != "SAME_LOWER")
        begins.append(begin)
        ends.append(end)
    return Window(kernel, strides, dilations, tuple(begins + ends))


def _output_padding(node: OnnxNode, rank: int) -> tuple[int, ...]:
    found = node.ints("output_padding") or (0,) * rank
    if len(found) != rank:
        node.fail(f"its output_padding is {list(found)} for {rank} spatial axes", help=f"such as {[0] * rank}")
    return found


def _transposed_padding(node: OnnxNode, window: Window) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(padding, output_padding), with `output_shape` worked out where it is given."""
    rank = window.rank
    extra = _output_padding(node, rank)
    wanted = node.ints("output_shape")
    if wanted is None:
        return window.padding, extra
    if len(wanted) not in (rank, rank + 2):
        node.fail(f"its output_shape is {list(wanted)} for {rank} spatial axes")
    shape = node[0].shape
    begins, ends, added = [], [], list(extra)
    for axis in range(rank):
        size = None if shape is None else shape[axis + 2]
        if not isinstance(size, int):
            node.fail("output_shape needs input sizes known when importing", code="onnx-dynamic")
        full = (size - 1) * window.strides[axis] + extra[axis] + (window.kernel[axis] - 1) * window.dilations[axis] + 1
        total = full - wanted[axis - rank]
        if total < 0:  # More than there is: zeros behind the end.
            added[axis] -= total
            total = 0
        begin, end = halves(total, upper=node.attr("auto_pad", "NOTSET") == "SAME_UPPER")
        begins.append(begin)
        ends.append(end)
    return tuple(begins + ends), tuple(added)


CONVOLUTION: dict[str, Converter] = {
    "Conv": conv, "ConvTranspose": conv_transpose, "DeformConv": deform_conv,
}  # fmt: skip
