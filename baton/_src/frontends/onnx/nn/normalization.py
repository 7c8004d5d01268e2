"""Normalisations: over the batch, channels, groups of channels, neighbouring channels, the last axes."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.moments import moments
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.narrow import in_float32, wide
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.dtype import FLOAT32


def batch_normalization(node: OnnxNode) -> list[Value]:
    x, epsilon = node[0], float(node.attr("epsilon", 1e-5))
    if x.rank == 1 and x.shape is not None:  # a batch of one channel
        node.inputs[0] = node.graph.reshape(x, (*x.shape, 1))
        out, *statistics = batch_normalization(node)
        return [node.graph.reshape(out, x.shape), *statistics]
    if node.attr("training_mode", 0) or (node.opset < 14 and any(node.outputs[1:])):
        return _batch_statistics(node, epsilon)
    if node.opset < 9 and not node.attr("spatial", 1):
        return [_of_elements(node, epsilon)]
    operands = [node[i] for i in range(5)]
    widest = max((v.dtype for v in operands), key=lambda dtype: dtype.bits)
    # Images, scales and statistics may be of three float types.
    wide = [node.graph.cast(v, widest) for v in operands]
    found = node.graph.call_many("nn.batch_norm", *wide, axis=1, epsilon=epsilon)[0]
    return [node.graph.cast(found, node[0].dtype)]


def _of_elements(node: OnnxNode, epsilon: float) -> Value:
    """Every element of an image has its own mean, variance, scale and bias."""
    g, (x, scale, bias, mean, variance) = node.graph, (node[i] for i in range(5))
    factor = g.call("multiply", scale, g.call("rsqrt", g.call("add", variance, g.scalar(epsilon, variance))))
    return g.call("add", g.call("multiply", g.call("subtract", x, mean), factor), bias)


def _batch_statistics(node: OnnxNode, epsilon: float) -> list[Value]:
    """Training: normalised by the batch's own mean and variance, which the running ones move towards. Before opset 14
    its own are results, too, the variance as onnxruntime saves it: as the factor that it becomes."""
    g, x, momentum = node.graph, wide(node, node[0]), float(node.attr("momentum", 0.9))
    axes = tuple(a for a in range(node.rank()) if a != 1)
    scaled = _normalise(node, x, axes, epsilon)
    scale, bias = (g.cast(node.by_channel(x, node[k]), x.dtype) for k in (1, 2))
    out = g.cast(g.call("add", g.call("multiply", scaled, scale), bias), node[0].dtype)
    mean = g.call("mean", x, axis=axes, keepdims=True)
    centred = g.call("subtract", x, mean)
    variance = g.call("mean", g.call("multiply", centred, centred), axis=axes, keepdims=False)
    batch = [g.call("squeeze", mean, axis=axes), variance]
    saved = g.call("rsqrt", g.call("add", variance, g.scalar(epsilon, variance)))
    return [out, *(_blend(node, node[i + 3], batch[i], momentum) for i in range(2)), batch[0], saved]


def _blend(node: OnnxNode, old: Value, new: Value, momentum: float) -> Value:
    g = node.graph
    kept = g.call("multiply", g.cast(old, new.dtype), g.scalar(momentum, new))
    return g.cast(g.call("add", kept, g.call("multiply", new, g.scalar(1 - momentum, new))), old.dtype)


def instance_normalization(node: OnnxNode) -> Value:
    """Normalised over the spatial axes of each channel of each image."""
    axes = tuple(range(2, node.rank()))
    scaled = _normalise(node, node[0], axes, float(node.attr("epsilon", 1e-5)))
    scale, bias = (node.by_channel(node[0], node[k]) for k in (1, 2))
    return node.graph.call("add", node.graph.call("multiply", scaled, scale), bias)


def _normalise(node: OnnxNode, x: Value, axes: tuple[int, ...], epsilon: float) -> Value:
    g = node.graph
    centred, _, variance = moments(g, x, axes)
    return g.call("multiply", centred, g.call("rsqrt", g.call("add", variance, g.scalar(epsilon, x))))


def mean_variance_normalization(node: OnnxNode) -> Value:
    axes = node.ints("axes") or (0, 2, 3)
    g, x = node.graph, node[0]
    centred, _, variance = moments(g, x, axes)
    return g.call("divide", centred, g.call("add", g.call("sqrt", variance), g.scalar(1e-9, x)))


def layer_normalization(node: OnnxNode) -> list[Value]:
    g, x, axis = node.graph, node[0], node.axis(-1)
    axes = tuple(range(axis, node.rank()))
    epsilon = float(node.attr("epsilon", 1e-5))
    wanted = [bool(name) for name in node.outputs]
    bias = node.optional(2)
    _check_gains(node, node[1], bias)
    if not any(wanted[1:]) and _matches(node, axes):
        gamma = node[1]
        beta = bias if bias is not None else g.constant(np.zeros((1,), np.float32), gamma.dtype)
        beta = beta if bias is not None else g.broadcast_to(beta, gamma.shape or ())
        return [g.call("nn.layer_norm", x, gamma, beta, axes=axes, epsilon=epsilon)]
    centred, mean, variance = moments(g, wide(node, x), axes)
    inverse = g.call("rsqrt", g.call("add", variance, g.scalar(epsilon, mean)))
    out = g.call("multiply", g.cast(g.call("multiply", centred, inverse), x.dtype), node[1])
    # ONNX has no float64 for the statistics.
    statistics = (g.cast(v, FLOAT32) for v in (mean, inverse))
    return [out if bias is None else g.call("add", out, bias), *statistics]


def _check_gains(node: OnnxNode, *gains: Value | None) -> None:
    """Refuse a scale or bias that would make the result larger than the input."""
    sizes = node[0].shape
    for gain in gains:
        if gain is None or gain.shape is None or sizes is None:
            continue
        wider = any(d == 1 and isinstance(d, int) and g != 1 for d, g in zip(sizes[::-1], gain.shape[::-1]))
        if wider or len(gain.shape) > len(sizes):
            node.fail(f"its scale or bias is {gain}, its input {node[0]}", code="op-shape")


def _matches(node: OnnxNode, axes: tuple[int, ...]) -> bool:
    """Scale and bias have exactly the normalised axes (ONNX also allows what broadcasts to them)."""
    shape = node[0].shape
    if shape is None:
        return False
    wanted = tuple(shape[a] for a in axes)
    return all(v is None or v.shape == wanted for v in (node[1], node.optional(2)))


def rms_normalization(node: OnnxNode) -> Value:
    """x / sqrt(mean(x²) + epsilon) * scale; the result is of the dtype of the scale."""
    g, x, axis = node.graph, wide(node, node[0]), node.axis(-1)
    _check_gains(node, node[1])
    axes = tuple(range(axis, node.rank()))
    square = g.call("mean", g.call("multiply", x, x), axis=axes, keepdims=True)
    inverse = g.call("rsqrt", g.call("add", square, g.scalar(float(node.attr("epsilon", 1e-5)), x)))
    return g.call("multiply", g.cast(g.call("multiply", x, inverse), node[1].dtype), node[1])


@in_float32
def group_normalization(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    groups, shape = int(node.needed("num_groups")), x.shape
    if shape is not None and not isinstance(shape[1], int) and node.opset >= 21 and node[1].rank == 1:
        shape = (shape[0], *node[1].known_shape(), *shape[2:])  # a scale for each channel
        x = g.of_shape(x, shape)
    if shape is None or not isinstance(shape[1], int):
        node.fail("the number of channels must be known", code="onnx-dynamic")
    if groups < 1 or shape[1] % groups:
        node.fail(f"its {shape[1]} channels do not divide into {groups} groups", code="op-shape")
    parts = g.reshape(x, (shape[0], groups, shape[1] // groups, *shape[2:]))
    axes = tuple(range(2, len(shape) + 1))
    normal = g.reshape(_normalise(node, parts, axes, float(node.attr("epsilon", 1e-5))), shape)
    scale, bias = node[1], node[2]
    if node.opset < 21 and scale.shape != (shape[1],):
        repeats = shape[1] // groups
        scale = g.call("repeat", scale, repeats=repeats, axis=0)
        bias = g.call("repeat", bias, repeats=repeats, axis=0)
    return g.call("add", g.call("multiply", normal, node.by_channel(x, scale)), node.by_channel(x, bias))


def lrn(node: OnnxNode) -> Value:
    """x / (bias + alpha/size * sum of squares of neighbouring channels) ** beta"""
    g, x, size = node.graph, node[0], int(node.needed("size"))
    channels = None if x.shape is None else x.shape[1]
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    if channels is None:
        node.fail("the rank must be known", code="onnx-dynamic")
    if isinstance(channels, int):  # a window may reach far beyond them
        before, after = (min(reach, max(channels - 1, 0)) for reach in (before, after))
    widths = (0, 0, before, after) + (0, 0) * (node.rank() - 2)
    squares = g.call("nn.pad", g.call("multiply", x, x), pad_width=widths, pad_value=0.0)
    total = None
    for start in range(before + 1 + after):
        part = g.call("strided_slice", squares, axes=(1,), begin=(start,), end=(start + channels,), strides=(1,))
        total = part if total is None else g.call("add", total, part)
    assert total is not None
    scale = g.scalar(float(node.attr("alpha", 1e-4)) / size, x)
    base = g.call("add", g.call("multiply", total, scale), g.scalar(float(node.attr("bias", 1.0)), x))
    return g.call("divide", x, g.call("power", base, g.scalar(float(node.attr("beta", 0.75)), x)))


def lp_normalization(node: OnnxNode) -> Value:
    g, x, axis = node.graph, node[0], node.axis(-1)
    if int(node.attr("p", 2)) == 1:
        norm = g.call("sum", g.call("abs", x), axis=(axis,), keepdims=True)
    else:
        norm = g.call("sqrt", g.call("sum", g.call("multiply", x, x), axis=(axis,), keepdims=True))
    zero = g.call("equal", norm, g.scalar(0, x))
    return g.call("where", zero, g.scalar(0, x), g.call("divide", x, norm))


NORMALIZATION: dict[str, Converter] = {
    "BatchNormalization": batch_normalization, "InstanceNormalization": in_float32(instance_normalization),
    "LayerNormalization": layer_normalization, "RMSNormalization": rms_normalization,
    "GroupNormalization": group_normalization, "LRN": in_float32(lrn), "LpNormalization": in_float32(lp_normalization),
    "MeanVarianceNormalization": in_float32(mean_variance_normalization),
}  # fmt: skip
