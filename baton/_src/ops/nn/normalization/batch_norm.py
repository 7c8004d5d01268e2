"""Batch normalisation over one channel axis: `(x - mean) / sqrt(var + epsilon) * gamma + beta`.

Takes data, gamma, beta, moving_mean, moving_var (each of rank 1 but the data); gives (result, moving_mean,
moving_var). `scale` off leaves gamma out, `center` off beta. Outside training the moving statistics come back
unchanged; with Relax's `training` the batch's own statistics normalise, and the moving ones move by `momentum`.
Source: seed 003; facts relax-ops-passes-vm §1 (nn), relay-language §6 level 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.nn.normalization.normalized import standardised, through_statistics
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import count_of
from baton._src.ops.reduce.variance import centred_squares, mean_stage
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class BatchNormAttrs(Attrs):
    """The channel axis and what is applied."""

    axis: int = attr(1, "the channel axis")
    epsilon: float = attr(1e-5, "added to the variance")
    center: bool = attr(True, "add beta")
    scale: bool = attr(True, "multiply by gamma")
    momentum: float = attr(0.1, "weight of the batch in the moving statistics", relax_only=True)
    training: bool = attr(False, "normalise by the batch's own statistics", relax_only=True, beyond=True)


_NAMES = ("gamma", "beta", "moving_mean", "moving_var")


def infer(call: OpCall[BatchNormAttrs]) -> Info:
    """(the data, and two vectors of channels)."""
    x = call.tensor(0)
    check_floats(call, 0)
    same_dtype(call, [call.tensor(i) for i in range(len(_NAMES) + 1)])
    check_ranks(call, None, *[1] * len(_NAMES))
    math = DimMath(call.prover)
    channels = None
    if x.ndim >= 0:
        axis = normal_axis(call, call.attrs.axis, x.ndim)
        channels = None if x.shape is None else x.shape[axis]
    for position, name in enumerate(_NAMES, start=1):
        v = call.tensor(position)
        if v.shape is not None and channels is not None and math.equal(v.shape[0], channels) is False:
            call.fail(f"{name} has {v.shape[0]} elements, but axis {call.attrs.axis} of the data has {channels}")
    vector = TensorInfo(None if channels is None else (channels,), x.dtype, 1, x.vdevice)
    statistics = [_known(call.tensor(i), vector) for i in (3, 4)]
    return TupleInfo((x, *statistics))


def _known(given: TensorInfo, otherwise: TensorInfo) -> TensorInfo:
    return otherwise if given.shape is None or given.dtype.is_void else given


def infer_inputs(call: OpCall[BatchNormAttrs]) -> Sequence[TensorInfo | None]:
    """Unknown statistics and weights are vectors of channels."""
    x = call.tensor(0)
    if x.shape is None or x.dtype.is_void or not -x.ndim <= call.attrs.axis < x.ndim:
        return (None,) * 5
    vector = TensorInfo((x.shape[from_front(call.attrs.axis, x.ndim)],), x.dtype)
    return (None, vector, vector, vector, vector)


def compute(inputs: Sequence[k.Tensor], a: BatchNormAttrs, out: k.Results) -> tuple[k.Tensor, ...]:
    """One elementwise stage (after the statistics, when training); the vectors are copied or moved."""
    x, gamma, beta, mean, var = inputs
    axis = from_front(a.axis, x.ndim)
    if a.training:
        axes = tuple(i for i in range(x.ndim) if i != axis)
        kept_mean = mean_stage(x, axes)
        squares = centred_squares(x, kept_mean, axes, False)
        count = count_of(x, axes, squares.dtype)
        zero = [k.index(0)] * x.ndim
        batch_mean = k.compute(mean.shape, lambda i: kept_mean(*zero[:axis], i, *zero[axis + 1 :]), "batch_mean")
        batch_var = k.compute(var.shape, lambda i: squares(i) / count, "batch_var")
        moved = [_moved(old, new, a.momentum) for old, new in ((mean, batch_mean), (var, batch_var))]
        normal = _normalise(x, gamma, beta, batch_mean, batch_var, a, axis, out.fields[0])
        return (normal, *moved)
    copies = [k.compute(v.shape, lambda i, v=v: v(i), "copy") for v in (mean, var)]
    return (_normalise(x, gamma, beta, mean, var, a, axis, out.fields[0]), *copies)


def _moved(old: k.Tensor, new: k.Tensor, momentum: float) -> k.Tensor:
    def body(i: k.Scalar) -> k.Scalar:
        before, now = k.wide(old(i)), k.wide(new(i))
        return k.cast(old.dtype, before * k.const(1 - momentum, before.dtype) + now * k.const(momentum, now.dtype))

    found: k.Tensor = k.compute(old.shape, body, "moving")
    return found


def _normalise(
    x: k.Tensor,
    gamma: k.Tensor,
    beta: k.Tensor,
    mean: k.Tensor,
    var: k.Tensor,
    a: BatchNormAttrs,
    axis: int,
    out: k.Result,
) -> k.Tensor:
    def body(*i: k.Scalar) -> k.Scalar:
        c = i[axis]
        deviation = k.sqrt(k.wide(var(c)) + k.const(a.epsilon, k.wide(var(c)).dtype))
        value = (k.wide(x(*i)) - k.wide(mean(c))) / deviation
        value = value * k.wide(gamma(c)) if a.scale else value
        value = value + k.wide(beta(c)) if a.center else value
        return k.cast(out.dtype, value)

    return k.compute(x.shape, body, "batch_norm")


def reference(inputs: Sequence[AnyArray], a: BatchNormAttrs) -> tuple[AnyArray, ...]:
    """The formula."""
    x, gamma, beta, mean, var = inputs
    axis = from_front(a.axis, x.ndim)
    values = wide(x)
    old = (mean, var)
    m, v = wide(mean), wide(var)
    if a.training:
        axes = tuple(i for i in range(x.ndim) if i != axis)
        m, v = values.mean(axis=axes), values.var(axis=axes)
        old = tuple(
            (wide(o) * np.float32(1 - a.momentum) + n * np.float32(a.momentum)).astype(o.dtype)
            for o, n in zip(old, (m, v))
        )
    shape = [-1 if i == axis else 1 for i in range(x.ndim)]
    result = (values - m.reshape(shape)) / np.sqrt(v.reshape(shape) + values.dtype.type(a.epsilon))
    result = result * wide(gamma).reshape(shape) if a.scale else result
    result = result + wide(beta).reshape(shape) if a.center else result
    return (result.astype(x.dtype), *old)


def decompose(b: CallMaker, args: Exprs, a: BatchNormAttrs, out: TupleInfo) -> GraphExpr:
    """Arithmetic with the statistics, folded into one scale and one shift per channel; when training the mean is taken
    off first: what is left may be little beside it."""
    x, gamma, beta, mean, var = args
    info = x.struct_info
    dtype, ndim = info.dtype, info.ndim
    after = tuple(range(1, ndim - from_front(a.axis, ndim)))

    def spread(v: GraphExpr) -> GraphExpr:
        return b.op("expand_dims", v, axis=after) if after else v

    kept = [mean, var]
    if a.training:
        others = tuple(i for i in range(ndim) if i != from_front(a.axis, ndim))
        mean, var = b.op("mean", x, axis=others), b.op("variance", x, axis=others)
        kept = [_blend(b, old, new, a.momentum, dtype) for old, new in zip(kept, (mean, var))]
    scale = b.op("divide", b.const(1.0, dtype), b.op("sqrt", b.op("add", var, b.const(a.epsilon, dtype))))
    if a.scale:
        scale = b.op("multiply", gamma, scale)
    if a.training:
        normal = b.op("multiply", b.op("subtract", x, spread(mean)), spread(scale))
        return b.tuple(b.op("add", normal, spread(beta)) if a.center else normal, *kept)
    shift = b.op("negative", b.op("multiply", mean, scale))
    if a.center:
        shift = b.op("add", beta, shift)
    return b.tuple(b.op("add", b.op("multiply", x, spread(scale)), spread(shift)), *kept)


def _blend(b: CallMaker, old: GraphExpr, new: GraphExpr, momentum: float, dtype: DataType) -> GraphExpr:
    kept = b.op("multiply", old, b.const(1 - momentum, dtype))
    return b.op("add", kept, b.op("multiply", new, b.const(momentum, dtype)))


def gradient(b: CallMaker, args: Exprs, a: BatchNormAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """With the statistics given; when training see `_training_gradient`."""
    x, gamma, _, mean, var = args
    g = b.item(grad, 0)
    info = x.struct_info
    axis = from_front(a.axis, info.ndim)
    others = tuple(i for i in range(info.ndim) if i != axis)
    after = tuple(range(1, info.ndim - axis))

    def spread(v: GraphExpr) -> GraphExpr:
        return b.op("expand_dims", v, axis=after) if after else v

    if a.training:
        return _training_gradient(b, args, a, grad, others, spread)
    epsilon = b.const(a.epsilon, info.dtype)
    inverse = b.op("divide", b.const(1.0, info.dtype), b.op("sqrt", b.op("add", var, epsilon)))
    normal = b.op("multiply", b.op("subtract", x, spread(mean)), spread(inverse))
    scaled = b.op("multiply", gamma, inverse) if a.scale else inverse
    to_x = b.op("multiply", g, spread(scaled))
    to_mean = b.op("negative", b.op("sum", to_x, axis=others))
    weighted = b.op("sum", b.op("multiply", to_x, normal), axis=others)
    to_var = b.op("multiply", b.op("multiply", weighted, inverse), b.const(-0.5, info.dtype))
    return [
        to_x,
        *_to_weights(b, g, normal, args, a, others),
        b.op("add", to_mean, b.item(grad, 1)),
        b.op("add", to_var, b.item(grad, 2)),
    ]


def _training_gradient(
    b: CallMaker,
    args: Exprs,
    a: BatchNormAttrs,
    grad: GraphExpr,
    others: tuple[int, ...],
    spread: Callable[[GraphExpr], GraphExpr],
) -> list[GraphExpr]:
    """The batch's own statistics move with the data; the results keep `1 - momentum` of those given."""
    x, gamma = args[:2]
    dtype = x.struct_info.dtype
    g, to_means, to_vars = (b.item(grad, i) for i in range(3))
    normal, deviation = standardised(b, x, others, b.const(a.epsilon, dtype))
    weighted = b.op("multiply", g, spread(gamma)) if a.scale else g
    to_x = through_statistics(b, weighted, normal, deviation, others)
    count = b.op("sum", b.full_like(x, 1), axis=others)
    new = b.const(a.momentum, dtype)
    by_mean, by_var = (spread(b.op("divide", b.op("multiply", v, new), count)) for v in (to_means, to_vars))
    centred = b.op("multiply", normal, deviation)
    moved = b.op("add", by_mean, b.op("multiply", b.op("add", centred, centred), by_var))
    kept = [b.op("multiply", v, b.const(1 - a.momentum, dtype)) for v in (to_means, to_vars)]
    return [b.op("add", to_x, moved), *_to_weights(b, g, normal, args, a, others), *kept]


def _to_weights(
    b: CallMaker, g: GraphExpr, normal: GraphExpr, args: Exprs, a: BatchNormAttrs, others: tuple[int, ...]
) -> tuple[GraphExpr, GraphExpr]:
    """The gradients of gamma and beta."""
    to_gamma = b.op("sum", b.op("multiply", g, normal), axis=others) if a.scale else b.full_like(args[1], 0)
    to_beta = b.op("sum", g, axis=others) if a.center else b.full_like(args[2], 0)
    return to_gamma, to_beta


def samples() -> tuple[Sample, ...]:
    def call(shape: tuple[SampleDim, ...], channels: SampleDim, a: BatchNormAttrs, dtype: str = "float32") -> Sample:
        vectors = [Arr((channels,), dtype) for _ in range(3)]
        half = dtype == "float16"
        return Sample(
            (Arr(shape, dtype), *vectors, Arr((channels,), dtype, 0.5, 2)),
            a,
            rtol=2e-2 if half else 1e-4,
            atol=2e-2 if half else 1e-5,
        )

    return (
        call(("n", 3, 4, "w"), 3, BatchNormAttrs()),
        call((2, 4, "m"), "m", BatchNormAttrs(axis=-1, scale=False)),
        call((2, 3, 4), 3, BatchNormAttrs(center=False, epsilon=1e-3), "float16"),
        call((3, 4, 5), 4, BatchNormAttrs(training=True)),
    )


BATCH_NORM = OpDef(
    "nn.batch_norm",
    BatchNormAttrs,
    inputs=(Input("data"), *(Input(name, "a vector of channels") for name in _NAMES)),
    outputs=3,
    infer=infer,
    compute=compute,
    reference=reference,
    decompose=decompose,
    gradient=gradient,
    infer_inputs=infer_inputs,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    layout=FollowsInput(axis="axis"),
    samples=samples,
)
