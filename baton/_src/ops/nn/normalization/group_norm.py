"""group_norm and instance_norm: statistics over groups of channels, or over each channel of each image.

`(x - mean) / sqrt(var + eps) * gamma + beta`, gamma and beta channel by channel.
Source: facts relax-ops-passes-vm §1 (nn), relay-language §6 level 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import as_axes, from_front, normal_axes, normal_axis
from baton._src.ops.dims import DimMath
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.linear_axes import named_dims
from baton._src.ops.nn.normalization.normalized import (
    check_weights,
    inverse_deviation,
    norm_sample,
    normalised,
    np_normalised,
    scaled,
    standardised,
    through_statistics,
)
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import count_of
from baton._src.ops.reduce.variance import centred_squares, mean_stage
from baton._src.values.tensor import AnyArray


@attrs
class GroupNormAttrs(Attrs):
    """Groups and axes."""

    num_groups: int = attr(doc="the number of groups of channels")
    channel_axis: int = attr(1, "the channel axis", relax_only=True)
    axes: tuple[int, ...] | None = attr(
        None, "the axes normalised with each group; None: all after the channels", relax_only=True
    )
    axis: int = attr(1, "the channel axis", relay_only=True)
    epsilon: float = attr(1e-5, "added to the variance")
    center: bool = attr(True, "add beta")
    scale: bool = attr(True, "multiply by gamma")

    def __post_init__(self) -> None:
        set_attr(self, "axes", as_axes(self.axes))


def _channel_axis(a: GroupNormAttrs | InstanceNormAttrs) -> int:
    """The channel axis by either language's name for it."""
    return a.channel_axis if a.channel_axis != 1 else a.axis


def _checked_channel(call: OpCall[GroupNormAttrs | InstanceNormAttrs], ndim: int) -> int:
    """The channel axis from the front; an error unless it, and the axes that are named, are axes of the data."""
    normal_axes(call, call.attrs.axes or (), ndim, "axes")
    return normal_axis(call, _channel_axis(call.attrs), ndim, "channel_axis")


def group_axes(a: GroupNormAttrs | InstanceNormAttrs, ndim: int) -> tuple[int, tuple[int, ...]]:
    """The channel axis, and the other axes that are normalised."""
    channel = from_front(_channel_axis(a), ndim)
    if a.axes is None:
        return channel, tuple(i for i in range(1, ndim) if i != channel)
    return channel, tuple(from_front(i, ndim) for i in a.axes)


def infer_group(call: OpCall[GroupNormAttrs]) -> Info:
    """The data itself."""
    x, a = call.tensor(0), call.attrs
    check_floats(call, 0)
    if x.ndim >= 0:
        channel, axes = _checked_channel(call, x.ndim), group_axes(a, x.ndim)[1]
        if channel in axes:
            call.fail(
                f"axes {a.axes} of data of rank {x.ndim} name its channel axis {channel}",
                code="op-axis",
                help="channels of a group are always normalised together; name the other axes only",
            )
        if a.num_groups < 1:
            call.fail(f"num_groups must be 1 or more, got {a.num_groups}", code="op-attribute")
        extent = None if x.shape is None else x.shape[channel]
        if extent is not None and DimMath(call.prover).divides(a.num_groups, extent) is False:
            call.fail(f"{extent} channels cannot be divided into {a.num_groups} groups")
        check_weights(call, None if extent is None else (extent,), 1, (1, 2))
    return x


def infer_channels(call: OpCall[GroupNormAttrs | InstanceNormAttrs]) -> Sequence[TensorInfo | None]:
    """Unknown weights are vectors of channels."""
    x = call.tensor(0)
    axis = call.attrs.axis
    if x.shape is None or x.dtype.is_void or not -x.ndim <= axis < x.ndim:
        return (None, None, None)
    vector = TensorInfo((x.shape[from_front(axis, x.ndim)],), x.dtype)
    return (None, vector, vector)


def compute_group(inputs: Sequence[k.Tensor], a: GroupNormAttrs, out: k.Result) -> k.Tensor:
    """Channels split into (group, within), then as layer_norm."""
    x, gamma, beta = inputs
    channel, axes = group_axes(a, x.ndim)
    each = k.index(x.shape[channel]) // a.num_groups
    shape = [*x.shape[:channel], k.index(a.num_groups), each, *x.shape[channel + 1 :]]
    grouped = k.compute(
        shape, lambda *i: x(*i[:channel], i[channel] * each + i[channel + 1], *i[channel + 2 :]), "group"
    )
    folded = (channel + 1, *(n if n < channel else n + 1 for n in axes))
    mean = mean_stage(grouped, tuple(sorted(folded)))
    squares = centred_squares(grouped, mean, tuple(sorted(folded)), True)
    count = count_of(grouped, folded, squares.dtype)
    within = k.divisor(each)

    def body(*i: k.Scalar) -> k.Scalar:
        c = i[channel]
        place = [*i[:channel], c // within, c % within, *i[channel + 1 :]]
        centre = [k.index(0) if n in folded else v for n, v in enumerate(place)]
        value = (k.wide(x(*i)) - mean(*centre)) * inverse_deviation(squares(*centre), count, a.epsilon)
        return k.cast(out.dtype, scaled(value, gamma(c), beta(c), a))

    return k.compute(x.shape, body, "T_group_norm", axes="ax")


def reference_group(inputs: Sequence[AnyArray], a: GroupNormAttrs) -> AnyArray:
    """The formula, on grouped channels."""
    x, gamma, beta = inputs
    channel, axes = group_axes(a, x.ndim)
    values = wide(x)
    each = x.shape[channel] // a.num_groups
    grouped = values.reshape(*x.shape[:channel], a.num_groups, each, *x.shape[channel + 1 :])
    folded = (channel + 1, *(n if n < channel else n + 1 for n in axes))
    mean = grouped.mean(axis=folded, keepdims=True)
    variance = grouped.var(axis=folded, keepdims=True)
    result = ((grouped - mean) / np.sqrt(variance + values.dtype.type(a.epsilon))).reshape(x.shape)
    shape = [-1 if n == channel else 1 for n in range(x.ndim)]
    result = result * wide(gamma).reshape(shape) if a.scale else result
    found: AnyArray = (result + wide(beta).reshape(shape) if a.center else result).astype(x.dtype)
    return found


def _to_weights(
    b: CallMaker, grad: GraphExpr, normal: GraphExpr, args: Exprs, a: GroupNormAttrs | InstanceNormAttrs, channel: int
) -> list[GraphExpr]:
    """Towards gamma and beta, vectors of channels."""
    others = tuple(i for i in range(args[0].struct_info.ndim) if i != channel)
    to_gamma = b.op("sum", b.op("multiply", grad, normal), axis=others) if a.scale else b.full_like(args[1], 0)
    return [to_gamma, b.op("sum", grad, axis=others) if a.center else b.full_like(args[2], 0)]


def _weighted(
    b: CallMaker, grad: GraphExpr, args: Exprs, a: GroupNormAttrs | InstanceNormAttrs, channel: int
) -> GraphExpr:
    """The gradient times gamma, channel by channel."""
    after = tuple(range(1, args[0].struct_info.ndim - channel))
    spread = b.op("expand_dims", args[1], axis=after) if after and a.scale else args[1]
    return b.op("multiply", grad, spread) if a.scale else grad


def gradient_group(b: CallMaker, args: Exprs, a: GroupNormAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """As layer_norm's, on grouped channels."""
    x = args[0]
    info = x.struct_info
    channel, axes = group_axes(a, info.ndim)
    dims = list(named_dims(info, "nn.group_norm"))
    split = [*dims[:channel], a.num_groups, dims[channel] // a.num_groups, *dims[channel + 1 :]]
    folded = tuple(sorted((channel + 1, *(n if n < channel else n + 1 for n in axes))))
    groups = b.op("reshape", x, b.shape(split))
    normal, deviation = standardised(b, groups, folded, b.const(a.epsilon, info.dtype))
    weighted = b.op("reshape", _weighted(b, grad, args, a, channel), b.shape(split))
    to_x = through_statistics(b, weighted, normal, deviation, folded)
    back = b.shape(dims)
    return [b.op("reshape", to_x, back), *_to_weights(b, grad, b.op("reshape", normal, back), args, a, channel)]


GROUP_NORM = OpDef(
    "nn.group_norm",
    GroupNormAttrs,
    inputs=(Input("data"), Input("gamma", "a vector of channels"), Input("beta", "a vector of channels")),
    infer=infer_group,
    infer_inputs=infer_channels,
    compute=compute_group,
    reference=reference_group,
    gradient=gradient_group,
    fusion=Fusion.OPAQUE,
    layout=FollowsInput(axis="axis", batch_first=True),
    samples=lambda: (
        norm_sample(("n", 4, 5), (4,), GroupNormAttrs(2, 1, (2,))),
        norm_sample((2, 3, 6), (6,), GroupNormAttrs(3, -1, (1,), center=False)),
        norm_sample((2, 4, 3, 3), (4,), GroupNormAttrs(4), "float16"),
    ),
    summary="Group normalization: each group of channels to mean 0 and variance 1, then scale and shift per channel.",
)


@attrs
class InstanceNormAttrs(Attrs):
    """Channel axis and axes."""

    channel_axis: int = attr(1, "the channel axis", relax_only=True)
    axes: tuple[int, ...] | None = attr(None, "the axes normalised; None: all but batch and channels", relax_only=True)
    axis: int = attr(1, "the channel axis", relay_only=True)
    epsilon: float = attr(1e-5, "added to the variance")
    center: bool = attr(True, "add beta")
    scale: bool = attr(True, "multiply by gamma")

    def __post_init__(self) -> None:
        set_attr(self, "axes", as_axes(self.axes))


def infer_instance(call: OpCall[InstanceNormAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_floats(call, 0)
    if x.ndim >= 0:
        channel = _checked_channel(call, x.ndim)
        check_weights(call, None if x.shape is None else (x.shape[channel],), 1, (1, 2))
    return x


def compute_instance(inputs: Sequence[k.Tensor], a: InstanceNormAttrs, out: k.Result) -> k.Tensor:
    """As layer_norm, weights by channel."""
    x, gamma, beta = inputs
    channel, axes = group_axes(a, x.ndim)
    return normalised(x, sorted(axes), lambda i: [i[channel]], gamma, beta, a, out, "instance_norm")


def reference_instance(inputs: Sequence[AnyArray], a: InstanceNormAttrs) -> AnyArray:
    """The formula."""
    x, gamma, beta = inputs
    channel, axes = group_axes(a, x.ndim)
    shape = [-1 if n == channel else 1 for n in range(x.ndim)]
    return np_normalised(x, axes, gamma.reshape(shape), beta.reshape(shape), a)


def gradient_instance(b: CallMaker, args: Exprs, a: InstanceNormAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """As layer_norm's, weights by channel."""
    x = args[0]
    channel, axes = group_axes(a, x.struct_info.ndim)
    normal, deviation = standardised(b, x, axes, b.const(a.epsilon, x.struct_info.dtype))
    to_x = through_statistics(b, _weighted(b, grad, args, a, channel), normal, deviation, axes)
    return [to_x, *_to_weights(b, grad, normal, args, a, channel)]


INSTANCE_NORM = OpDef(
    "nn.instance_norm",
    InstanceNormAttrs,
    inputs=(Input("data"), Input("gamma", "a vector of channels"), Input("beta", "a vector of channels")),
    infer=infer_instance,
    infer_inputs=infer_channels,
    compute=compute_instance,
    reference=reference_instance,
    gradient=gradient_instance,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    layout=FollowsInput(axis="axis", batch_first=True),
    samples=lambda: (
        norm_sample(("n", 4, "w"), (4,), InstanceNormAttrs()),
        norm_sample((2, 3, 3, 4), (4,), InstanceNormAttrs(channel_axis=-1)),
    ),
    summary="Instance normalization: each channel of each image to mean 0 and variance 1, then scale and shift.",
)
