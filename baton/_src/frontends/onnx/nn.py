"""Convolutions, pools, normalisations, softmax, resizing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.windows import LAYOUTS, Window, framed, window_of
from baton._src.values.dtype import INT64


def kernel_of(node: OnnxNode, index: int = 1) -> tuple[int, ...]:
    """The spatial sizes of the kernel, which is operand `index`."""
    shape = node[index].shape
    if shape is None or not all(isinstance(d, int) for d in shape[2:]):
        node.fail("the kernel's spatial sizes must be known", code="onnx-dynamic")
    return tuple(d for d in shape[2:] if isinstance(d, int))


def _add_bias(node: OnnxNode, x: Value, bias: Value | None, rank: int) -> Value:
    if bias is None:
        return x
    return node.graph.call("add", x, node.graph.reshape(bias, (1, -1) + (1,) * rank))


def conv(node: OnnxNode) -> Value:
    x, window = framed(node, node[0], kernel_of(node), 0.0)
    return _add_bias(node, convolve(node, x, node[1], window), node.optional(2), window.rank)


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
    return _add_bias(node, out, node.optional(3), 2)


def conv_transpose(node: OnnxNode) -> Value:
    window = window_of(node, kernel_of(node)) if node.attr("auto_pad", "NOTSET") == "NOTSET" else _transposed(node)
    layouts = LAYOUTS.get(window.rank)
    if layouts is None:
        node.fail(f"convolutions over {window.rank} spatial axes are not supported")
    padding, extra = _transposed_padding(node, window)
    out = node.graph.call(
        f"nn.conv{window.rank}d_transpose", node[0], node[1], strides=window.strides, padding=padding,
        output_padding=extra, dilation=window.dilations, groups=int(node.attr("group", 1)),
        data_layout=layouts[0], kernel_layout=layouts[2],
    )  # fmt: skip
    return _add_bias(node, out, node.optional(2), window.rank)


def _transposed(node: OnnxNode) -> Window:
    """auto_pad of a transposed convolution: output size = input size * stride."""
    kernel = kernel_of(node)
    rank = len(kernel)
    strides = node.ints("strides") or (1,) * rank
    dilations = node.ints("dilations") or (1,) * rank
    begins, ends = [], []
    for size, stride, dilation in zip(kernel, strides, dilations, strict=True):
        total = max((size - 1) * dilation + 1 - stride, 0) if node.attr("auto_pad") != "VALID" else 0
        small, large = total // 2, total - total // 2
        upper = node.attr("auto_pad") != "SAME_LOWER"
        begins.append(small if upper else large)
        ends.append(large if upper else small)
    return Window(kernel, strides, dilations, tuple(begins + ends))


def _transposed_padding(node: OnnxNode, window: Window) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(padding, output_padding), with `output_shape` worked out where it is given."""
    rank = window.rank
    extra = node.ints("output_padding") or (0,) * rank
    wanted = node.ints("output_shape")
    if wanted is None:
        return window.padding, extra
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
        small, large = total // 2, total - total // 2
        upper = node.attr("auto_pad", "NOTSET") == "SAME_UPPER"
        begins.append(small if upper else large)
        ends.append(large if upper else small)
    return tuple(begins + ends), tuple(added)


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


def global_pool(op: str) -> Converter:
    """The reduction `op` over all spatial axes."""

    def convert(node: OnnxNode) -> Value:
        axes = tuple(range(2, node.rank()))
        return node.graph.call(op, node[0], axis=axes, keepdims=True)

    return convert


def batch_normalization(node: OnnxNode) -> list[Value]:
    epsilon = float(node.attr("epsilon", 1e-5))
    if node.attr("training_mode", 0):
        return _batch_statistics(node, epsilon)
    operands = [node[i] for i in range(5)]
    return [node.graph.call_many("nn.batch_norm", *operands, axis=1, epsilon=epsilon)[0]]


def _batch_statistics(node: OnnxNode, epsilon: float) -> list[Value]:
    """Training: normalised by the batch's own mean and variance, which the running ones move towards."""
    g, x, momentum = node.graph, node[0], float(node.attr("momentum", 0.9))
    rank = node.rank()
    axes = tuple(a for a in range(rank) if a != 1)
    scaled = _normalise(node, x, axes, epsilon)
    shape = (1, -1) + (1,) * (rank - 2)
    out = g.call("add", g.call("multiply", scaled, g.reshape(node[1], shape)), g.reshape(node[2], shape))
    mean = g.call("mean", x, axis=axes, keepdims=True)
    centred = g.call("subtract", x, mean)
    variance = g.call("mean", g.call("multiply", centred, centred), axis=axes, keepdims=False)
    batch = [g.call("squeeze", mean, axis=axes), variance]
    return [out, *(_blend(node, node[i + 3], batch[i], momentum) for i in range(2))]


def _blend(node: OnnxNode, old: Value, new: Value, momentum: float) -> Value:
    g = node.graph
    kept = g.call("multiply", old, g.scalar(momentum, old))
    return g.call("add", kept, g.cast(g.call("multiply", new, g.scalar(1 - momentum, new)), old.dtype))


def instance_normalization(node: OnnxNode) -> Value:
    """Normalised over the spatial axes of each channel of each image."""
    axes = tuple(range(2, node.rank()))
    scaled = _normalise(node, node[0], axes, float(node.attr("epsilon", 1e-5)))
    shape = (1, -1) + (1,) * len(axes)
    g = node.graph
    return g.call("add", g.call("multiply", scaled, g.reshape(node[1], shape)), g.reshape(node[2], shape))


def _normalise(node: OnnxNode, x: Value, axes: tuple[int, ...], epsilon: float) -> Value:
    g = node.graph
    centred = g.call("subtract", x, g.call("mean", x, axis=axes, keepdims=True))
    variance = g.call("mean", g.call("multiply", centred, centred), axis=axes, keepdims=True)
    return g.call("multiply", centred, g.call("rsqrt", g.call("add", variance, g.scalar(epsilon, x))))


def mean_variance_normalization(node: OnnxNode) -> Value:
    axes = node.ints("axes") or (0, 2, 3)
    g, x = node.graph, node[0]
    centred = g.call("subtract", x, g.call("mean", x, axis=axes, keepdims=True))
    variance = g.call("mean", g.call("multiply", centred, centred), axis=axes, keepdims=True)
    return g.call("divide", centred, g.call("add", g.call("sqrt", variance), g.scalar(1e-9, x)))


def layer_normalization(node: OnnxNode) -> list[Value]:
    g, x, axis = node.graph, node[0], node.axis(-1)
    axes = tuple(range(axis, node.rank()))
    epsilon = float(node.attr("epsilon", 1e-5))
    wanted = [bool(name) for name in node.outputs]
    bias = node.optional(2)
    if not any(wanted[1:]) and _matches(node, axes):
        gamma = node[1]
        beta = bias if bias is not None else g.constant(np.zeros((1,), np.float32), gamma.dtype)
        beta = beta if bias is not None else g.broadcast_to(beta, gamma.shape or ())
        return [g.call("nn.layer_norm", x, gamma, beta, axes=axes, epsilon=epsilon)]
    mean = g.call("mean", x, axis=axes, keepdims=True)
    centred = g.call("subtract", x, mean)
    variance = g.call("mean", g.call("multiply", centred, centred), axis=axes, keepdims=True)
    inverse = g.call("rsqrt", g.call("add", variance, g.scalar(epsilon, x)))
    out = g.call("multiply", g.call("multiply", centred, inverse), node[1])
    return [out if bias is None else g.call("add", out, bias), mean, inverse]


def _matches(node: OnnxNode, axes: tuple[int, ...]) -> bool:
    """Scale and bias have exactly the normalised axes (ONNX also allows what broadcasts to them)."""
    shape = node[0].shape
    if shape is None:
        return False
    wanted = tuple(shape[a] for a in axes)
    return all(v is None or v.shape == wanted for v in (node[1], node.optional(2)))


def rms_normalization(node: OnnxNode) -> Value:
    g, x, axis = node.graph, node[0], node.axis(-1)
    axes = tuple(range(axis, node.rank()))
    square = g.call("mean", g.call("multiply", x, x), axis=axes, keepdims=True)
    inverse = g.call("rsqrt", g.call("add", square, g.scalar(float(node.attr("epsilon", 1e-5)), x)))
    return g.call("multiply", g.call("multiply", x, inverse), node[1])


def group_normalization(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    groups, shape = int(node.needed("num_groups")), node[0].shape
    if shape is None or not isinstance(shape[1], int):
        node.fail("the number of channels must be known", code="onnx-dynamic")
    parts = g.reshape(x, (shape[0], groups, shape[1] // groups, *shape[2:]))
    axes = tuple(range(2, len(shape) + 1))
    normal = g.reshape(_normalise(node, parts, axes, float(node.attr("epsilon", 1e-5))), shape)
    per_channel = (1, -1) + (1,) * (len(shape) - 2)
    scale, bias = node[1], node[2]
    if node.opset < 21 and scale.shape != (shape[1],):
        repeats = shape[1] // groups
        scale = g.call("repeat", scale, repeats=repeats, axis=0)
        bias = g.call("repeat", bias, repeats=repeats, axis=0)
    return g.call("add", g.call("multiply", normal, g.reshape(scale, per_channel)), g.reshape(bias, per_channel))


def lrn(node: OnnxNode) -> Value:
    """x / (bias + alpha/size * sum of squares of neighbouring channels) ** beta"""
    g, x, size = node.graph, node[0], int(node.needed("size"))
    channels = None if x.shape is None else x.shape[1]
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    if not isinstance(channels, int):
        node.fail("the number of channels must be known", code="onnx-dynamic")
    widths = (0, 0, before, after) + (0, 0) * (node.rank() - 2)
    squares = g.call("nn.pad", g.call("multiply", x, x), pad_width=widths, pad_value=0.0)
    total = None
    for start in range(size):
        part = g.call("strided_slice", squares, axes=(1,), begin=(start,), end=(start + channels,), strides=(1,))
        total = part if total is None else g.call("add", total, part)
    assert total is not None
    scale = g.scalar(float(node.attr("alpha", 1e-4)) / size, x)
    base = g.call("add", g.call("multiply", total, scale), g.scalar(float(node.attr("bias", 1.0)), x))
    return g.call("divide", x, g.call("power", base, g.scalar(float(node.attr("beta", 0.75)), x)))


def along_axis(kernel: Callable[[OnnxNode, Value, int], Value]) -> Converter:
    """`kernel(node, x, axis)`, which keeps the shape; before opset 13 the axes from `axis` on count as one."""

    def convert(node: OnnxNode) -> Value:
        g, x = node.graph, node[0]
        if node.opset >= 13:
            return kernel(node, x, node.axis(-1))
        axis, shape = node.axis(1), x.shape
        if axis == node.rank() - 1:
            return kernel(node, x, axis)
        if shape is None:
            node.fail("the shape must be known: several axes count as one", code="onnx-dynamic")
        return g.reshape(kernel(node, g.reshape(x, (*shape[:axis], -1)), axis), shape)

    return convert


def _softmax(node: OnnxNode, x: Value, axis: int) -> Value:
    return node.graph.call("nn.softmax", x, axis=axis)


def _log_softmax(node: OnnxNode, x: Value, axis: int) -> Value:
    return node.graph.call("nn.log_softmax", x, axis=axis)


def _hardmax(node: OnnxNode, x: Value, axis: int) -> Value:
    """1 at the first maximum, 0 elsewhere."""
    g = node.graph
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    best = g.cast(g.call("argmax", x, axis=axis, keepdims=True), INT64)
    places = g.call("arange", start=0, stop=x.shape[axis], step=1, dtype=INT64)
    places = g.reshape(places, (x.shape[axis], *[1] * (len(x.shape) - axis - 1)))
    return g.cast(g.call("equal", places, best), x.dtype)


def lp_normalization(node: OnnxNode) -> Value:
    g, x, axis = node.graph, node[0], node.axis(-1)
    if int(node.attr("p", 2)) == 1:
        norm = g.call("sum", g.call("abs", x), axis=(axis,), keepdims=True)
    else:
        norm = g.call("sqrt", g.call("sum", g.call("multiply", x, x), axis=(axis,), keepdims=True))
    zero = g.call("equal", norm, g.scalar(0, x))
    return g.call("where", zero, g.scalar(0, x), g.call("divide", x, norm))


NN: dict[str, Converter] = {
    "Conv": conv, "ConvTranspose": conv_transpose, "DeformConv": deform_conv, "AveragePool": average_pool,
    "GlobalAveragePool": global_pool("mean"), "GlobalMaxPool": global_pool("max"),
    "BatchNormalization": batch_normalization, "InstanceNormalization": instance_normalization,
    "LayerNormalization": layer_normalization, "RMSNormalization": rms_normalization,
    "GroupNormalization": group_normalization, "MeanVarianceNormalization": mean_variance_normalization,
    "LRN": lrn, "Softmax": along_axis(_softmax), "LogSoftmax": along_axis(_log_softmax),
    "Hardmax": along_axis(_hardmax), "LpNormalization": lp_normalization,
}  # fmt: skip
