"""layer_norm and rms_norm: statistics over the given axes.

layer_norm: `(x - mean) / sqrt(var + eps) * gamma + beta`; rms_norm: `x / sqrt(mean(x²) + eps) * weight`. Stages: sum,
mean, sum of squares, and one elementwise stage, so that schedules recognise them. Source: facts relax-ops-passes-vm
§1 (nn), relay-language §6 level 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import as_axes, from_front, normal_axes
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.linear_axes import named_dims
from baton._src.ops.nn.normalization.normalized import (
    check_weights,
    inverse_deviation,
    norm_sample,
    normalised,
    np_normalised,
    standardised,
    through_statistics,
)
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import count_of, fold_compute
from baton._src.ops.samples import Arr, Sample
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.values.tensor import AnyArray


@attrs
class LayerNormAttrs(Attrs):
    """Axes (Relay: one axis) and what is applied."""

    axes: tuple[int, ...] | None = attr(None, "the axes that are normalised together", relax_only=True)
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
    check_floats(call, 0)
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


def compute_layer(inputs: Sequence[k.Tensor], a: LayerNormAttrs, out: k.Result) -> k.Tensor:
    """Mean, squares, one elementwise stage."""
    x, gamma, beta = inputs
    axes = _layer_axes(a, x.ndim)
    return normalised(x, sorted(axes), lambda i: [i[n] for n in axes], gamma, beta, a, out, "T_layer_norm")


def reference_layer(inputs: Sequence[AnyArray], a: LayerNormAttrs) -> AnyArray:
    """The formula."""
    x, gamma, beta = inputs
    axes = _layer_axes(a, x.ndim)
    order = sorted(range(len(axes)), key=lambda n: axes[n])
    shape = [x.shape[n] if n in axes else 1 for n in range(x.ndim)]
    weights = [np.transpose(v, order).reshape(shape) for v in (gamma, beta)]
    return np_normalised(x, axes, weights[0], weights[1], a)


def gradient_layer(b: CallMaker, args: Exprs, a: LayerNormAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Towards data, gamma and beta."""
    x, gamma, _ = args
    info = x.struct_info
    axes = _layer_axes(a, info.ndim)
    normal, deviation = standardised(b, x, sorted(axes), b.const(a.epsilon, info.dtype))
    weighted = b.op("multiply", grad, _spread(b, gamma, info, axes)) if a.scale else grad
    to_gamma = _gathered(b, b.op("multiply", grad, normal), info, axes) if a.scale else b.full_like(gamma, 0)
    to_beta = _gathered(b, grad, info, axes) if a.center else b.full_like(args[2], 0)
    return [through_statistics(b, weighted, normal, deviation, sorted(axes)), to_gamma, to_beta]


def _spread(b: CallMaker, weight: GraphExpr, info: TensorStructInfo, axes: tuple[int, ...]) -> GraphExpr:
    """A weight, whose axes are those of the data in the order of `axes`, as it lies beside the data."""
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    turned = weight if order == tuple(range(len(axes))) else b.op("permute_dims", weight, axes=order)
    dims = named_dims(info, "a normalization")
    return b.op("reshape", turned, b.shape([d if i in axes else 1 for i, d in enumerate(dims)]))


def _gathered(b: CallMaker, value: GraphExpr, info: TensorStructInfo, axes: tuple[int, ...]) -> GraphExpr:
    """What lies beside the data, summed to the axes of a weight."""
    summed = b.op("sum", value, axis=tuple(i for i in range(info.ndim) if i not in axes))
    ranks = tuple(sorted(axes).index(axis) for axis in axes)
    return summed if ranks == tuple(range(len(axes))) else b.op("permute_dims", summed, axes=ranks)


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
    layout=FollowsInput(axis="axis"),
    samples=lambda: (
        norm_sample(("n", 8), (8,), LayerNormAttrs(axes=-1)),
        norm_sample((2, "m", 5), ("m", 5), LayerNormAttrs(axes=(-2, -1), epsilon=1e-3)),
        norm_sample((2, 3, 4), (4, 3), LayerNormAttrs(axes=(-1, 1))),
        norm_sample((2, 8), (8,), LayerNormAttrs(axis=1, center=False), "float16"),
    ),
    summary="Layer normalization: normalize over the axes to mean 0 and variance 1, then scale and shift.",
)


@attrs
class RmsNormAttrs(Attrs):
    """Axes."""

    axes: tuple[int, ...] = attr(-1, "the axes that are normalised together")
    epsilon: float = attr(1e-5, "added to the mean square")

    def __post_init__(self) -> None:
        if self.axes is None:
            raise TypeError("axes is an integer or several of them")
        set_attr(self, "axes", as_axes(self.axes))


def infer_rms(call: OpCall[RmsNormAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_floats(call, 0)
    if x.ndim >= 0:
        axes = normal_axes(call, call.attrs.axes, x.ndim, "axes")
        check_weights(call, None if x.shape is None else tuple(x.shape[i] for i in axes), len(axes), (1,))
    return x


def compute_rms(inputs: Sequence[k.Tensor], a: RmsNormAttrs, out: k.Result) -> k.Tensor:
    """A sum of squares, one elementwise stage."""
    x, weight = inputs
    axes = tuple(from_front(i, x.ndim) for i in a.axes)
    squares = fold_compute(x, tuple(sorted(axes)), True, k.reduce_sum, "squares", lambda v: k.wide(v) * k.wide(v))
    count = count_of(x, axes, squares.dtype)

    def body(*i: k.Scalar) -> k.Scalar:
        at = [k.index(0) if n in axes else i[n] for n in range(x.ndim)]
        value = k.wide(x(*i)) * inverse_deviation(squares(*at), count, a.epsilon)
        return k.cast(out.dtype, value * k.wide(weight(*(i[n] for n in axes))))

    return k.compute(x.shape, body, "T_rms_norm", axes="ax")


def reference_rms(inputs: Sequence[AnyArray], a: RmsNormAttrs) -> AnyArray:
    """The formula."""
    x, weight = inputs
    axes = tuple(from_front(i, x.ndim) for i in a.axes)
    values = wide(x)
    mean = np.mean(values * values, axis=axes, keepdims=True)
    shape = [x.shape[n] if n in axes else 1 for n in range(x.ndim)]
    order = sorted(range(len(axes)), key=lambda n: axes[n])
    scale = np.transpose(wide(weight), order).reshape(shape)
    found: AnyArray = (values / np.sqrt(mean + values.dtype.type(a.epsilon)) * scale).astype(x.dtype)
    return found


def gradient_rms(b: CallMaker, args: Exprs, a: RmsNormAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Towards data and weight."""
    x, weight = args
    info = x.struct_info
    axes = tuple(from_front(i, info.ndim) for i in a.axes)
    folded = tuple(sorted(axes))
    square = b.op("mean", b.op("multiply", x, x), axis=folded, keepdims=True)
    root = b.op("sqrt", b.op("add", square, b.const(a.epsilon, info.dtype)))
    normal = b.op("divide", x, root)
    weighted = b.op("multiply", grad, _spread(b, weight, info, axes))
    along = b.op("mean", b.op("multiply", weighted, normal), axis=folded, keepdims=True)
    to_x = b.op("divide", b.op("subtract", weighted, b.op("multiply", normal, along)), root)
    return [to_x, _gathered(b, b.op("multiply", grad, normal), info, axes)]


RMS_NORM = OpDef(
    "nn.rms_norm",
    RmsNormAttrs,
    inputs=(Input("data"), Input("weight")),
    infer=infer_rms,
    compute=compute_rms,
    reference=reference_rms,
    gradient=gradient_rms,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    relay_name=NotApplicable("Relay composes it of other operators"),
    samples=lambda: (
        Sample((Arr(("n", 8)), Arr((8,))), RmsNormAttrs(), rtol=1e-4),
        Sample((Arr((2, 3, 4), "float16"), Arr((3, 4), "float16")), RmsNormAttrs((-2, -1)), rtol=2e-2, atol=2e-2),
        Sample((Arr((2, 3, 4)), Arr((4, 2, 3))), RmsNormAttrs((2, 0, 1)), rtol=1e-4),
    ),
    summary="RMS normalization: divide by the root mean square over the axes, then scale.",
)
