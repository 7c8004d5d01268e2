"""Convolutions, normalisations, embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.moments import moments
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.tensors import dtype_of

LAYOUTS = {1: ("NCW", "OIW", "IOW"), 2: ("NCHW", "OIHW", "IOHW"), 3: ("NCDHW", "OIDHW", "IODHW")}
"""(data, kernel, transposed kernel) by spatial rank."""


def spread_over(numbers: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for every spatial axis, as PyTorch reads a single one."""
    found = (numbers,) if isinstance(numbers, int) else tuple(numbers)
    return found * rank if len(found) == 1 else found


def spatial_rank(node: AtenNode, weight: Value) -> int:
    if weight.rank - 2 not in LAYOUTS:
        node.fail(f"a convolution over {weight.rank - 2} spatial axes is not supported")
    return weight.rank - 2


def batched(node: AtenNode, x: Value, rank: int) -> Value:
    """A single image becomes a batch of one."""
    return x if x.rank == rank + 2 else node.graph.reshape(x, (1, *node.sizes(x)))


def unbatched(node: AtenNode, found: Value, x: Value) -> Value:
    """The inverse of `batched`, for the result of what `x` was given to."""
    return found if found.rank == x.rank else node.graph.reshape(found, node.sizes(found)[1:])


def _with_bias(node: AtenNode, x: Value, bias: Value | None) -> Value:
    return x if bias is None else node.graph.call("nn.bias_add", x, bias)


def conv(
    node: AtenNode, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int] | str,
    dilation: Sequence[int], groups: int,
) -> Value:  # fmt: skip
    rank = spatial_rank(node, weight)
    dilations = spread_over(dilation, rank)
    begins, ends = _borders(node, padding, weight, dilations)
    image = batched(node, x, rank)
    found = node.graph.call(
        f"nn.conv{rank}d", image, weight, strides=spread_over(stride, rank), padding=(*begins, *ends),
        dilation=dilations, groups=groups, data_layout=LAYOUTS[rank][0], kernel_layout=LAYOUTS[rank][1],
    )  # fmt: skip
    return unbatched(node, _with_bias(node, found, bias), x)


def _borders(
    node: AtenNode, padding: Sequence[int] | str, weight: Value, dilations: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(before, after) each spatial axis; `same` puts the odd one after."""
    rank = len(dilations)
    if padding == "valid":
        return (0,) * rank, (0,) * rank
    if padding == "same":
        kernel = [node.known(k, "the size of the kernel") for k in node.sizes(weight)[2:]]
        totals = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
        return tuple(t // 2 for t in totals), tuple(t - t // 2 for t in totals)
    assert not isinstance(padding, str)
    found = spread_over(padding, rank)
    return found, found


def conv_transpose(
    node: AtenNode, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
    output_padding: Sequence[int], groups: int, dilation: Sequence[int],
) -> Value:  # fmt: skip
    rank = spatial_rank(node, weight)
    borders = spread_over(padding, rank)
    found = node.graph.call(
        f"nn.conv{rank}d_transpose", batched(node, x, rank), weight, strides=spread_over(stride, rank),
        padding=borders + borders, output_padding=spread_over(output_padding, rank),
        dilation=spread_over(dilation, rank), groups=groups, data_layout=LAYOUTS[rank][0],
        kernel_layout=LAYOUTS[rank][2],
    )  # fmt: skip
    return unbatched(node, _with_bias(node, found, bias), x)


def convolution(
    node: AtenNode, x: Value, weight: Value, bias: Value | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int, *_: bool,
) -> Value:  # fmt: skip
    """The one operator that all convolutions become in PyTorch."""
    if transposed:
        return conv_transpose(node, x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(node, x, weight, bias, stride, padding, dilation, groups)


def batch_norm(
    node: AtenNode, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, variance: Value | None,
    training: bool, momentum: float, eps: float, *_: bool,
) -> Value:  # fmt: skip
    """By the statistics that are kept, in their dtype; by those of the batch where none are."""
    if mean is None or variance is None:
        normal = _normalised(node, x, (0, *range(2, x.rank)), eps)[0]
        return node.graph.cast(_per_channel(node, normal, weight, bias), node.dtype)
    if training:
        node.fail(
            "batch normalisation that learns its statistics is for training",
            help="put the module into evaluation mode (model.eval())",
        )
    g, channels = node.graph, node.sizes(mean)
    gamma, beta = (
        g.broadcast_to(g.scalar(number, mean), channels) if given is None else g.cast(given, mean.dtype)
        for number, given in ((1, weight), (0, bias))
    )
    operands = (g.cast(x, mean.dtype), gamma, beta, mean, variance)
    return g.cast(g.call_many("nn.batch_norm", *operands, axis=1, epsilon=float(eps))[0], node.dtype)


def batch_norm_inference(
    node: AtenNode, x: Value, weight: Value | None, bias: Value | None, mean: Value, variance: Value,
    momentum: float, eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """(result, nothing, nothing)"""
    return native_batch_norm(node, x, weight, bias, mean, variance, False, momentum, eps)


def native_batch_norm(
    node: AtenNode, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, variance: Value | None,
    training: bool, momentum: float, eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """(result, mean, inverse deviation); without the last two where statistics are kept"""
    if mean is None or variance is None:
        normal, centre, inverse = _normalised(node, x, (0, *range(2, x.rank)), eps)
        g, kept = node.graph, dtype_of(node.results[1].dtype)
        centre, inverse = (g.cast(g.reshape(v, (-1,)), kept) for v in (centre, inverse))
        return g.cast(_per_channel(node, normal, weight, bias), node.dtype), centre, inverse
    nothing = node.graph.constant(np.zeros(0), dtype_of(node.results[1].dtype))
    return batch_norm(node, x, weight, bias, mean, variance, training, momentum, eps), nothing, nothing


def _normalised(node: AtenNode, x: Value, axes: tuple[int, ...], eps: float) -> tuple[Value, Value, Value]:
    """((x - mean) / sqrt(variance + eps), mean, 1 / sqrt(variance + eps)) over axes, of narrow floats in float32."""
    g = node.graph
    centred, mean, variance = moments(g, node.widened(x), axes)
    inverse = g.call("rsqrt", g.call("add", variance, g.scalar(eps, variance)))
    return g.call("multiply", centred, inverse), mean, inverse


def layer_norm(
    node: AtenNode, x: Value, shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float, *_: bool
) -> Value:
    """In the dtype of the weights, which autocast leaves wider than the input; the result has the input's."""
    g, axes = node.graph, tuple(range(x.rank - len(shape), x.rank))
    wide = x if weight is None else g.cast(x, weight.dtype)
    gamma, beta = (
        g.broadcast_to(g.scalar(number, wide), tuple(shape)) if given is None else given
        for number, given in ((1, weight), (0, bias))
    )
    return g.cast(g.call("nn.layer_norm", wide, gamma, beta, axes=axes, epsilon=float(eps)), x.dtype)


def native_layer_norm(
    node: AtenNode, x: Value, shape: Sequence[int], weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    """(result, mean, inverse deviation)"""
    axes = tuple(range(x.rank - len(shape), x.rank))
    g, kept = node.graph, dtype_of(node.results[1].dtype)
    _, *statistics = _normalised(node, g.cast(x, kept), axes, eps)
    mean, inverse = (g.cast(v, kept) for v in statistics)
    return layer_norm(node, x, shape, weight, bias, eps), mean, inverse


def rms_norm(node: AtenNode, x: Value, shape: Sequence[int], weight: Value | None, eps: float | None) -> Value:
    """x / sqrt(mean of squares + eps); without eps, the dtype's smallest step.

    Narrow floats are widened until the end, as PyTorch does: their squares overflow.
    """
    g, axes = node.graph, tuple(range(x.rank - len(shape), x.rank))
    wide = node.widened(x)
    least = eps if eps is not None else float(np.finfo(wide.dtype.numpy).eps)
    square = g.call("mean", g.call("multiply", wide, wide), axis=axes, keepdims=True)
    found = g.call("multiply", wide, g.call("rsqrt", g.call("add", square, g.scalar(least, wide))))
    if weight is not None:
        found = g.call("multiply", found, g.cast(weight, found.dtype))
    return g.cast(found, node.dtype)


def group_norm(
    node: AtenNode, x: Value, groups: int, weight: Value | None, bias: Value | None, eps: float, *_: bool
) -> Value:
    """The channels of a group, and all that lies behind them, are normalised together."""
    return _by_groups(node, x, groups, weight, bias, eps)[0]


def _by_groups(
    node: AtenNode, x: Value, groups: int, weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value, Value, Value]:
    """(result, mean, inverse deviation), the statistics as [batch, groups], in the dtype of the weights."""
    g, shape, kept = node.graph, node.sizes(x), x.dtype if weight is None else weight.dtype
    channels = node.known(shape[1], "the number of channels")
    parts = g.reshape(g.cast(x, kept), (shape[0], groups, channels // groups, *shape[2:]))
    normal, mean, inverse = _normalised(node, parts, tuple(range(2, parts.rank)), eps)
    found = _per_channel(node, g.reshape(normal, shape), weight, bias)
    mean, inverse = (g.cast(g.reshape(v, (shape[0], groups)), kept) for v in (mean, inverse))
    return g.cast(found, x.dtype), mean, inverse


def native_group_norm(
    node: AtenNode, x: Value, weight: Value | None, bias: Value | None, batch: int, channels: int, area: int,
    groups: int, eps: float,
) -> tuple[Value, Value, Value]:  # fmt: skip
    """(result, mean, inverse deviation)"""
    return _by_groups(node, x, groups, weight, bias, eps)


def instance_norm(
    node: AtenNode, x: Value, weight: Value | None, bias: Value | None, mean: Value | None, variance: Value | None,
    use_input_stats: bool, momentum: float, eps: float, *_: bool,
) -> Value:  # fmt: skip
    """Every channel of every image by itself; by the running statistics where these are kept and not trained."""
    if not use_input_stats:
        return batch_norm(node, x, weight, bias, mean, variance, False, momentum, eps)
    normal = _normalised(node, x, tuple(range(2, x.rank)), eps)[0]
    return node.graph.cast(_per_channel(node, normal, weight, bias), node.dtype)


def _per_channel(node: AtenNode, x: Value, weight: Value | None, bias: Value | None) -> Value:
    g, column = node.graph, (1, -1) + (1,) * (x.rank - 2)
    if weight is not None:
        x = g.call("multiply", x, g.cast(g.reshape(weight, column), x.dtype))
    return x if bias is None else g.call("add", x, g.cast(g.reshape(bias, column), x.dtype))


def embedding(node: AtenNode, weight: Value, indices: Value, *_: object) -> Value:
    return node.graph.call("take", weight, indices, axis=0, mode="fast")


NN: dict[str, Converter] = {
    **{f"aten.conv{n}d.{kind}": conv for n in (1, 2, 3) for kind in ("default", "padding")},
    "aten.conv_transpose1d.default": conv_transpose, "aten.conv_transpose2d.input": conv_transpose,
    "aten.conv_transpose3d.input": conv_transpose, "aten.convolution.default": convolution,
    "aten._convolution.default": convolution, "aten._convolution.deprecated": convolution,
    "aten.batch_norm.default": batch_norm, "aten._native_batch_norm_legit_no_training.default": batch_norm_inference,
    "aten.native_batch_norm.default": native_batch_norm,
    "aten.layer_norm.default": layer_norm, "aten.native_layer_norm.default": native_layer_norm,
    "aten.rms_norm.default": rms_norm, "aten.group_norm.default": group_norm,
    "aten.native_group_norm.default": native_group_norm, "aten.instance_norm.default": instance_norm,
    "aten.embedding.default": embedding,
}  # fmt: skip
