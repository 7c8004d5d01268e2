"""Normalisation by statistics of the data itself: layer_norm, group_norm, instance_norm, rms_norm, l2_normalize, lrn.

layer_norm: `(x - mean) / sqrt(var + eps) * gamma + beta` over `axes`; group_norm: the same over channel groups and
`axes`; instance_norm: over every axis but batch and channel; rms_norm: `x / sqrt(mean(x²) + eps) * weight`. Stages:
sum, mean, sum of squares, and one elementwise stage, so that schedules recognise them. Source: facts
relax-ops-passes-vm §1 (nn), relay-language §6 levels 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import as_axes, from_front, normal_axes, normal_axis
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import centred_squares, count_of, fold_compute, mean_stage
from baton._src.ops.samples import Arr, Sample


def check_float(call: OpCall[Any], x: TensorInfo) -> None:
    """Floats only."""
    if not x.dtype.is_void and not x.dtype.is_float:
        call.fail(f"takes floating-point data, got {x.dtype}", code="op-dtype", help="astype first")


def check_weights(call: OpCall[Any], expected: tuple[Dim, ...] | None, rank: int, positions: Sequence[int]) -> None:
    """Weights must have the extents of the axes they scale."""
    math = DimMath(call.prover)
    for position in positions:
        v = call.tensor(position)
        name = call.op.inputs[position].name
        if v.ndim not in (-1, rank):
            call.fail(f"{name} must have rank {rank}, got {show_shape(v.shape, v.ndim)}")
        if v.shape is None or expected is None:
            continue
        if any(math.equal(a, b) is False for a, b in zip(v.shape, expected)):
            call.fail(f"{name} has shape {show_shape(v.shape)}, the data asks for {show_shape(expected)}")


def scaled(value: Any, gamma: Any, beta: Any, a: Any) -> Any:
    """`value * gamma + beta`, as the attributes ask."""
    value = value * k.wide(gamma) if a.scale else value
    return value + k.wide(beta) if a.center else value


def inverse_deviation(squares: Any, count: Any, epsilon: float) -> Any:
    """1 / sqrt(squares / count + epsilon)"""
    return k.const(1, squares.dtype) / k.sqrt(squares / count + k.const(epsilon, squares.dtype))


@attrs
class LayerNormAttrs(Attrs):
    """Axes (Relay: one axis) and what is applied."""

    axes: Any = attr(None, "the axes that are normalised together", relax_only=True)
    axis: int = attr(-1, "the axis that is normalised", relay_only=True)
    epsilon: float = attr(1e-5, "added to the variance")
    center: bool = attr(True, "add beta")
    scale: bool = attr(True, "multiply by gamma")

    def __post_init__(self) -> None:
        set_attr(self, "axes", as_axes(self.axes))


def _layer_axes(a: LayerNormAttrs, ndim: int) -> tuple[int, ...]:
    given = (a.axis,) if a.axes is None else a.axes
    return tuple(from_front(i, ndim) for i in given)


def infer_layer(call: OpCall[LayerNormAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_float(call, x)
    given = (call.attrs.axis,) if call.attrs.axes is None else call.attrs.axes
    if x.ndim >= 0:
        axes = normal_axes(call, given, x.ndim, "axes")
        expected = None if x.shape is None else tuple(x.shape[i] for i in axes)
        check_weights(call, expected, len(axes), (1, 2))
    return x


def infer_layer_weights(call: OpCall[LayerNormAttrs]) -> Sequence[TensorInfo | None]:
    """Unknown weights have the extents of the axes."""
    x = call.tensor(0)
    if x.shape is None or x.dtype.is_void:
        return (None, None, None)
    vector = TensorInfo(tuple(x.shape[i] for i in _layer_axes(call.attrs, x.ndim)), x.dtype)
    return (None, vector, vector)


def compute_layer(inputs: Any, a: LayerNormAttrs, out: Any) -> Any:
    """Mean, squares, one elementwise stage."""
    x, gamma, beta = inputs
    axes = _layer_axes(a, x.ndim)
    return _normalised(x, sorted(axes), lambda i: [i[n] for n in axes], gamma, beta, a, out, "layer_norm")


def _normalised(
    x: k.Tensor, axes: Sequence[int], at: Any, gamma: Any, beta: Any, a: Any, out: Any, name: str
) -> k.Tensor:
    """(x - mean) / deviation over `axes`, scaled by weights read at `at(indices)`."""
    folded = tuple(axes)
    mean = mean_stage(x, folded)
    squares = centred_squares(x, mean, folded, True)
    count = count_of(x, folded, squares.dtype)

    def body(*i: Any) -> Any:
        centre = [k.index(0) if n in folded else i[n] for n in range(x.ndim)]
        value = (k.wide(x(*i)) - mean(*centre)) * inverse_deviation(squares(*centre), count, a.epsilon)
        return k.cast(out.dtype, scaled(value, gamma(*at(i)), beta(*at(i)), a))

    return k.compute(x.shape, body, name)


def _np_normalised(x: Any, axes: tuple[int, ...], gamma: Any, beta: Any, a: Any) -> Any:
    values = wide(x)
    mean = values.mean(axis=axes, keepdims=True)
    variance = values.var(axis=axes, keepdims=True)
    result = (values - mean) / np.sqrt(variance + values.dtype.type(a.epsilon))
    result = result * wide(gamma) if a.scale else result
    return (result + wide(beta) if a.center else result).astype(x.dtype)


def reference_layer(inputs: Any, a: LayerNormAttrs) -> Any:
    """The formula."""
    x, gamma, beta = inputs
    axes = _layer_axes(a, x.ndim)
    order = sorted(range(len(axes)), key=lambda n: axes[n])
    shape = [x.shape[n] if n in axes else 1 for n in range(x.ndim)]
    weights = [np.transpose(v, order).reshape(shape) for v in (gamma, beta)]
    return _np_normalised(x, axes, weights[0], weights[1], a)


def gradient_layer(b: Any, args: Any, a: LayerNormAttrs, out: Any, grad: Any) -> list[Any]:
    """Towards data, gamma and beta; weights whose axes are the last ones, in order."""
    x, gamma, _ = args
    info = x.struct_info
    axes = tuple(sorted(_layer_axes(a, info.ndim)))
    others = tuple(i for i in range(info.ndim) if i not in axes)
    epsilon = b.const(a.epsilon, info.dtype)
    centred = b.op("subtract", x, b.op("mean", x, axis=axes, keepdims=True))
    variance = b.op("mean", b.op("multiply", centred, centred), axis=axes, keepdims=True)
    deviation = b.op("sqrt", b.op("add", variance, epsilon))
    normal = b.op("divide", centred, deviation)
    weighted = b.op("multiply", grad, b.op("reshape", gamma, b.shape(_spread(info, axes)))) if a.scale else grad
    first = b.op("mean", weighted, axis=axes, keepdims=True)
    second = b.op("mean", b.op("multiply", weighted, normal), axis=axes, keepdims=True)
    inner = b.op("subtract", b.op("subtract", weighted, first), b.op("multiply", normal, second))
    to_gamma = b.op("sum", b.op("multiply", grad, normal), axis=others) if a.scale else b.full_like(gamma, 0)
    to_beta = b.op("sum", grad, axis=others) if a.center else b.full_like(args[2], 0)
    return [b.op("divide", inner, deviation), to_gamma, to_beta]


def _spread(info: Any, axes: tuple[int, ...]) -> list[Any]:
    return [d if i in axes else 1 for i, d in enumerate(info.shape.values)]


def _norm_sample(shape: Any, weights: Any, a: Any, dtype: str = "float32") -> Sample:
    tolerance = 3e-2 if "16" in dtype else 1e-4
    vectors = (Arr(weights, dtype), Arr(weights, dtype))
    return Sample((Arr(shape, dtype), *vectors), a, rtol=tolerance, atol=tolerance)


LAYER_NORM = OpDef(
    "nn.layer_norm",
    LayerNormAttrs,
    inputs=(Input("data"), Input("gamma"), Input("beta")),
    infer=infer_layer,
    infer_inputs=infer_layer_weights,
    compute=compute_layer,
    reference=reference_layer,
    gradient=gradient_layer,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    samples=lambda: (
        _norm_sample(("n", 8), (8,), LayerNormAttrs(axes=-1)),
        _norm_sample((2, "m", 5), ("m", 5), LayerNormAttrs(axes=(-2, -1), epsilon=1e-3)),
        _norm_sample((2, 8), (8,), LayerNormAttrs(axis=1, center=False), "float16"),
    ),
    summary="Each slice over the axes brought to mean 0 and variance 1, then scaled and shifted.",
)


@attrs
class GroupNormAttrs(Attrs):
    """Groups and axes."""

    num_groups: int = attr(doc="into how many groups the channels fall")
    channel_axis: int = attr(1, "the channel axis", relax_only=True)
    axes: Any = attr(None, "the axes normalised with each group; None: all after the channels", relax_only=True)
    axis: int = attr(1, "the channel axis", relay_only=True)
    epsilon: float = attr(1e-5, "added to the variance")
    center: bool = attr(True, "add beta")
    scale: bool = attr(True, "multiply by gamma")

    def __post_init__(self) -> None:
        set_attr(self, "axes", as_axes(self.axes))


def _group_axes(a: GroupNormAttrs, ndim: int) -> tuple[int, tuple[int, ...]]:
    """The channel axis, and the other axes that are normalised."""
    given = a.channel_axis if a.channel_axis != 1 or a.axis == 1 else a.axis
    channel = from_front(given, ndim)
    if a.axes is None:
        return channel, tuple(i for i in range(1, ndim) if i != channel)
    return channel, tuple(from_front(i, ndim) for i in a.axes)


def infer_group(call: OpCall[GroupNormAttrs]) -> Info:
    """The data itself."""
    x, a = call.tensor(0), call.attrs
    check_float(call, x)
    if x.ndim >= 0:
        normal_axis(call, a.channel_axis, x.ndim, "channel_axis")
        normal_axes(call, a.axes or (), x.ndim, "axes")
        channel, _ = _group_axes(a, x.ndim)
        extent = None if x.shape is None else x.shape[channel]
        if isinstance(extent, int) and extent % a.num_groups:
            call.fail(f"{extent} channels cannot be divided into {a.num_groups} groups")
        check_weights(call, None if extent is None else (extent,), 1, (1, 2))
    return x


def infer_channels(call: OpCall[Any]) -> Sequence[TensorInfo | None]:
    """Unknown weights are vectors of channels."""
    x = call.tensor(0)
    axis = getattr(call.attrs, "axis", 1)
    if x.shape is None or x.dtype.is_void or not -x.ndim <= axis < x.ndim:
        return (None, None, None)
    vector = TensorInfo((x.shape[from_front(axis, x.ndim)],), x.dtype)
    return (None, vector, vector)


def compute_group(inputs: Any, a: GroupNormAttrs, out: Any) -> Any:
    """Channels split into (group, within), then as layer_norm."""
    x, gamma, beta = inputs
    channel, axes = _group_axes(a, x.ndim)
    each = k.index(x.shape[channel]) // a.num_groups
    shape = [*x.shape[:channel], k.index(a.num_groups), each, *x.shape[channel + 1 :]]
    grouped = k.compute(
        shape, lambda *i: x(*i[:channel], i[channel] * each + i[channel + 1], *i[channel + 2 :]), "group"
    )
    folded = (channel + 1, *(n if n < channel else n + 1 for n in axes))
    mean = mean_stage(grouped, tuple(sorted(folded)))
    squares = centred_squares(grouped, mean, tuple(sorted(folded)), True)
    count = count_of(grouped, folded, squares.dtype)

    def body(*i: Any) -> Any:
        c = i[channel]
        place = [*i[:channel], c // each, c % each, *i[channel + 1 :]]
        centre = [k.index(0) if n in folded else v for n, v in enumerate(place)]
        value = (k.wide(x(*i)) - mean(*centre)) * inverse_deviation(squares(*centre), count, a.epsilon)
        return k.cast(out.dtype, scaled(value, gamma(c), beta(c), a))

    return k.compute(x.shape, body, "group_norm")


def reference_group(inputs: Any, a: GroupNormAttrs) -> Any:
    """The formula, on grouped channels."""
    x, gamma, beta = inputs
    channel, axes = _group_axes(a, x.ndim)
    values = wide(x)
    each = x.shape[channel] // a.num_groups
    grouped = values.reshape(*x.shape[:channel], a.num_groups, each, *x.shape[channel + 1 :])
    folded = (channel + 1, *(n if n < channel else n + 1 for n in axes))
    mean = grouped.mean(axis=folded, keepdims=True)
    variance = grouped.var(axis=folded, keepdims=True)
    result = ((grouped - mean) / np.sqrt(variance + values.dtype.type(a.epsilon))).reshape(x.shape)
    shape = [-1 if n == channel else 1 for n in range(x.ndim)]
    result = result * wide(gamma).reshape(shape) if a.scale else result
    return (result + wide(beta).reshape(shape) if a.center else result).astype(x.dtype)


GROUP_NORM = OpDef(
    "nn.group_norm",
    GroupNormAttrs,
    inputs=(Input("data"), Input("gamma", "a vector of channels"), Input("beta", "a vector of channels")),
    infer=infer_group,
    infer_inputs=infer_channels,
    compute=compute_group,
    reference=reference_group,
    gradient=NotApplicable("not yet"),
    fusion=Fusion.OPAQUE,
    samples=lambda: (
        _norm_sample(("n", 4, 5), (4,), GroupNormAttrs(2, 1, (2,))),
        _norm_sample((2, 3, 6), (6,), GroupNormAttrs(3, -1, (1,), center=False)),
        _norm_sample((2, 4, 3, 3), (4,), GroupNormAttrs(4), "float16"),
    ),
    summary="Each group of channels brought to mean 0 and variance 1, then scaled and shifted channel by channel.",
)


@attrs
class InstanceNormAttrs(Attrs):
    """Channel axis and axes."""

    channel_axis: int = attr(1, "the channel axis", relax_only=True)
    axes: Any = attr(None, "the axes normalised; None: all but batch and channels", relax_only=True)
    axis: int = attr(1, "the channel axis", relay_only=True)
    epsilon: float = attr(1e-5, "added to the variance")
    center: bool = attr(True, "add beta")
    scale: bool = attr(True, "multiply by gamma")

    def __post_init__(self) -> None:
        set_attr(self, "axes", as_axes(self.axes))


def infer_instance(call: OpCall[InstanceNormAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_float(call, x)
    if x.ndim >= 0:
        channel, _ = _group_axes(call.attrs, x.ndim)  # type: ignore[arg-type]
        check_weights(call, None if x.shape is None else (x.shape[channel],), 1, (1, 2))
    return x


def compute_instance(inputs: Any, a: Any, out: Any) -> Any:
    """As layer_norm, weights by channel."""
    x, gamma, beta = inputs
    channel, axes = _group_axes(a, x.ndim)
    return _normalised(x, sorted(axes), lambda i: [i[channel]], gamma, beta, a, out, "instance_norm")


def reference_instance(inputs: Any, a: Any) -> Any:
    """The formula."""
    x, gamma, beta = inputs
    channel, axes = _group_axes(a, x.ndim)
    shape = [-1 if n == channel else 1 for n in range(x.ndim)]
    return _np_normalised(x, axes, gamma.reshape(shape), beta.reshape(shape), a)


INSTANCE_NORM = OpDef(
    "nn.instance_norm",
    InstanceNormAttrs,
    inputs=(Input("data"), Input("gamma", "a vector of channels"), Input("beta", "a vector of channels")),
    infer=infer_instance,
    infer_inputs=infer_channels,
    compute=compute_instance,
    reference=reference_instance,
    gradient=NotApplicable("not yet"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    samples=lambda: (
        _norm_sample(("n", 4, "w"), (4,), InstanceNormAttrs()),
        _norm_sample((2, 3, 3, 4), (4,), InstanceNormAttrs(channel_axis=-1)),
    ),
    summary="Each channel of each image brought to mean 0 and variance 1, then scaled and shifted.",
)


@attrs
class RmsNormAttrs(Attrs):
    """Axes."""

    axes: Any = attr(-1, "the axes that are normalised together")
    epsilon: float = attr(1e-5, "added to the mean square")

    def __post_init__(self) -> None:
        set_attr(self, "axes", as_axes(self.axes))


def infer_rms(call: OpCall[RmsNormAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_float(call, x)
    if x.ndim >= 0:
        axes = normal_axes(call, call.attrs.axes, x.ndim, "axes")
        check_weights(call, None if x.shape is None else tuple(x.shape[i] for i in axes), len(axes), (1,))
    return x


def compute_rms(inputs: Any, a: RmsNormAttrs, out: Any) -> Any:
    """A sum of squares, one elementwise stage."""
    x, weight = inputs
    axes = tuple(from_front(i, x.ndim) for i in a.axes)
    squares = fold_compute(x, tuple(sorted(axes)), True, k.reduce_sum, "squares", lambda v: k.wide(v) * k.wide(v))
    count = count_of(x, axes, squares.dtype)

    def body(*i: Any) -> Any:
        at = [k.index(0) if n in axes else i[n] for n in range(x.ndim)]
        value = k.wide(x(*i)) * inverse_deviation(squares(*at), count, a.epsilon)
        return k.cast(out.dtype, value * k.wide(weight(*(i[n] for n in axes))))

    return k.compute(x.shape, body, "rms_norm")


def reference_rms(inputs: Any, a: RmsNormAttrs) -> Any:
    """The formula."""
    x, weight = inputs
    axes = tuple(from_front(i, x.ndim) for i in a.axes)
    values = wide(x)
    mean = np.mean(values * values, axis=axes, keepdims=True)
    shape = [x.shape[n] if n in axes else 1 for n in range(x.ndim)]
    order = sorted(range(len(axes)), key=lambda n: axes[n])
    scale = np.transpose(wide(weight), order).reshape(shape)
    return (values / np.sqrt(mean + values.dtype.type(a.epsilon)) * scale).astype(x.dtype)


RMS_NORM = OpDef(
    "nn.rms_norm",
    RmsNormAttrs,
    inputs=(Input("data"), Input("weight")),
    infer=infer_rms,
    compute=compute_rms,
    reference=reference_rms,
    gradient=NotApplicable("not yet"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    relay_name=NotApplicable("Relay composes it of other operators"),
    samples=lambda: (
        Sample((Arr(("n", 8)), Arr((8,))), RmsNormAttrs(), rtol=1e-4),
        Sample((Arr((2, 3, 4), "float16"), Arr((3, 4), "float16")), RmsNormAttrs((-2, -1)), rtol=2e-2, atol=2e-2),
    ),
    summary="Each slice over the axes divided by its root mean square, then scaled.",
)


@attrs
class L2NormalizeAttrs(Attrs):
    """Axes."""

    eps: float = attr(doc="lower bound of the squared norm")
    axis: Any = attr(None, "the axes of the norm; None: all")

    def __post_init__(self) -> None:
        set_attr(self, "axis", as_axes(self.axis))


def infer_l2(call: OpCall[L2NormalizeAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_float(call, x)
    if x.ndim >= 0 and call.attrs.axis is not None:
        normal_axes(call, call.attrs.axis, x.ndim)
    return x


def _l2_axes(a: L2NormalizeAttrs, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if a.axis is None else tuple(sorted(from_front(i, ndim) for i in a.axis))


def compute_l2(inputs: Any, a: L2NormalizeAttrs, out: Any) -> Any:
    """A sum of squares, one elementwise stage."""
    (x,) = inputs
    axes = _l2_axes(a, x.ndim)
    squares = fold_compute(x, axes, True, k.reduce_sum, "squares", lambda v: k.wide(v) * k.wide(v))

    def body(*i: Any) -> Any:
        at = [k.index(0) if n in axes else i[n] for n in range(x.ndim)]
        norm = k.sqrt(k.maximum(squares(*at), k.const(a.eps, squares.dtype)))
        return k.cast(out.dtype, k.wide(x(*i)) / norm)

    return k.compute(x.shape, body, "l2_normalize")


def reference_l2(inputs: Any, a: L2NormalizeAttrs) -> Any:
    """x / sqrt(max(sum(x²), eps))"""
    x = wide(inputs[0])
    squares = np.sum(x * x, axis=_l2_axes(a, x.ndim), keepdims=True)
    return (x / np.sqrt(np.maximum(squares, x.dtype.type(a.eps)))).astype(inputs[0].dtype)


L2_NORMALIZE = OpDef(
    "nn.l2_normalize",
    L2NormalizeAttrs,
    inputs=(Input("data"),),
    infer=infer_l2,
    compute=compute_l2,
    reference=reference_l2,
    gradient=NotApplicable("not yet"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=lambda: (Sample((Arr(("n", 4, 5)),), L2NormalizeAttrs(1e-6, (1,)), rtol=1e-4),),
    summary="x / sqrt(max(sum(x²), eps)) over the axes.",
)


@attrs
class LrnAttrs(Attrs):
    """Window and constants."""

    size: int = attr(5, "channels in the window, odd")
    axis: int = attr(1, "the channel axis")
    bias: float = attr(2.0, "added to the mean square")
    alpha: float = attr(1e-5, "weight of the mean square")
    beta: float = attr(0.75, "exponent")


def infer_lrn(call: OpCall[LrnAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_float(call, x)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
    if call.attrs.size < 1:
        call.fail("size must be positive", code="op-attribute")
    return x


def compute_lrn(inputs: Any, a: LrnAttrs, out: Any) -> Any:
    """A windowed sum of squares along the channels, one elementwise stage."""
    (x,) = inputs
    axis = from_front(a.axis, x.ndim)
    extent = k.index(x.shape[axis])
    before = (a.size - 1) // 2
    tap = k.reduce_axis(a.size, "r")

    def squares(*i: Any) -> Any:
        c = i[axis] + tap.var - before
        inside = k.all_of([c >= k.index(0), c < extent])
        value = k.wide(x(*i[:axis], c, *i[axis + 1 :]))
        return k.reduce_sum(k.if_then_else(inside, value * value, k.const(0, value.dtype)), [tap])

    total = k.compute(x.shape, squares, "lrn_squares")

    def body(*i: Any) -> Any:
        value = k.wide(x(*i))
        scale = k.const(a.bias, value.dtype) + k.const(a.alpha / a.size, value.dtype) * total(*i)
        return k.cast(out.dtype, value / k.power(scale, k.const(a.beta, value.dtype)))

    return k.compute(x.shape, body, "lrn")


def reference_lrn(inputs: Any, a: LrnAttrs) -> Any:
    """x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta"""
    x = wide(inputs[0])
    moved = np.moveaxis(x * x, a.axis, 0)
    before = (a.size - 1) // 2
    total = np.stack([moved[max(0, c - before) : c - before + a.size].sum(axis=0) for c in range(moved.shape[0])])
    scale = a.bias + a.alpha / a.size * np.moveaxis(total, 0, a.axis)
    return (x / scale**a.beta).astype(inputs[0].dtype)


LRN = OpDef(
    "nn.lrn",
    LrnAttrs,
    inputs=(Input("data"),),
    infer=infer_lrn,
    compute=compute_lrn,
    reference=reference_lrn,
    gradient=NotApplicable("not yet"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 7, 3)),), LrnAttrs(alpha=0.5), rtol=1e-4),
        Sample((Arr((2, 3, 4)),), LrnAttrs(size=3, axis=-1, alpha=0.5), rtol=1e-4),
    ),
    summary="Each element divided by a power of the mean square of neighbouring channels.",
)

NORMALIZATIONS: tuple[OpDef[Any], ...] = (LAYER_NORM, GROUP_NORM, INSTANCE_NORM, RMS_NORM, L2_NORMALIZE, LRN)
