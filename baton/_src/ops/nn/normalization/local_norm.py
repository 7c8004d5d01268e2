"""l2_normalize and lrn: elements divided by a norm, over axes or over neighbouring channels.

Source: facts relay-language §6 level 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import as_axes, from_front, normal_axes, normal_axis
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.linear_axes import named_dims
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import fold_compute
from baton._src.ops.samples import Arr, Sample
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.values.tensor import AnyArray


@attrs
class L2NormalizeAttrs(Attrs):
    """Axes."""

    eps: float = attr(doc="lower bound of the squared norm")
    axis: tuple[int, ...] | None = attr(None, "the axes of the norm; None: all")

    def __post_init__(self) -> None:
        set_attr(self, "axis", as_axes(self.axis))


def infer_l2(call: OpCall[L2NormalizeAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_floats(call, 0)
    if x.ndim >= 0 and call.attrs.axis is not None:
        normal_axes(call, call.attrs.axis, x.ndim)
    return x


def _l2_axes(a: L2NormalizeAttrs, ndim: int) -> tuple[int, ...]:
    return tuple(range(ndim)) if a.axis is None else tuple(sorted(from_front(i, ndim) for i in a.axis))


def compute_l2(inputs: Sequence[k.Tensor], a: L2NormalizeAttrs, out: k.Result) -> k.Tensor:
    """A sum of squares, one elementwise stage."""
    (x,) = inputs
    axes = _l2_axes(a, x.ndim)
    squares = fold_compute(x, axes, True, k.reduce_sum, "squares", lambda v: k.wide(v) * k.wide(v))

    def body(*i: k.Scalar) -> k.Scalar:
        at = [k.index(0) if n in axes else i[n] for n in range(x.ndim)]
        norm = k.sqrt(k.maximum(squares(*at), k.const(a.eps, squares.dtype)))
        return k.cast(out.dtype, k.wide(x(*i)) / norm)

    return k.compute(x.shape, body, "l2_normalize")


def reference_l2(inputs: Sequence[AnyArray], a: L2NormalizeAttrs) -> AnyArray:
    """x / sqrt(max(sum(x²), eps))"""
    x = wide(inputs[0])
    squares = np.sum(x * x, axis=_l2_axes(a, x.ndim), keepdims=True)
    found: AnyArray = (x / np.sqrt(np.maximum(squares, x.dtype.type(a.eps)))).astype(inputs[0].dtype)
    return found


def gradient_l2(b: CallMaker, args: Exprs, a: L2NormalizeAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """grad / norm - x * sum(grad * x) / norm³; where the bound holds, the norm is constant."""
    (x,) = args
    info = x.struct_info
    axes = _l2_axes(a, info.ndim)
    squares = b.op("sum", b.op("multiply", x, x), axis=axes, keepdims=True)
    bound = b.const(a.eps, info.dtype)
    bounded = b.op("maximum", squares, bound)
    norm = b.op("sqrt", bounded)
    along = b.op("divide", b.op("sum", b.op("multiply", grad, x), axis=axes, keepdims=True), bounded)
    along = b.op("where", b.op("greater", squares, bound), along, b.full_like(along, 0))
    return [b.op("divide", b.op("subtract", grad, b.op("multiply", x, along)), norm)]


L2_NORMALIZE = OpDef(
    "nn.l2_normalize",
    L2NormalizeAttrs,
    inputs=(Input("data"),),
    infer=infer_l2,
    compute=compute_l2,
    reference=reference_l2,
    gradient=gradient_l2,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    layout=FollowsInput(axis="axis"),
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
    alpha: float = attr(1e-4, "weight of the mean square")
    beta: float = attr(0.75, "exponent")


def infer_lrn(call: OpCall[LrnAttrs]) -> Info:
    """The data itself."""
    x = call.tensor(0)
    check_floats(call, 0)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
    if call.attrs.size < 1:
        call.fail("size must be positive", code="op-attribute")
    return x


def compute_lrn(inputs: Sequence[k.Tensor], a: LrnAttrs, out: k.Result) -> k.Tensor:
    """A windowed sum of squares along the channels, one elementwise stage."""
    (x,) = inputs
    axis = from_front(a.axis, x.ndim)
    extent = k.index(x.shape[axis])
    before = (a.size - 1) // 2
    tap = k.reduce_axis(a.size, "r")

    def squares(*i: k.Scalar) -> k.Scalar:
        c = i[axis] + tap.var - before
        inside = k.all_of([c >= k.index(0), c < extent])
        value = k.wide(x(*i[:axis], c, *i[axis + 1 :]))
        return k.reduce_sum(k.if_then_else(inside, value * value, k.const(0, value.dtype)), [tap])

    total = k.compute(x.shape, squares, "lrn_squares")

    def body(*i: k.Scalar) -> k.Scalar:
        value = k.wide(x(*i))
        scale = k.const(a.bias, value.dtype) + k.const(a.alpha / a.size, value.dtype) * total(*i)
        return k.cast(out.dtype, value / k.power(scale, k.const(a.beta, value.dtype)))

    return k.compute(x.shape, body, "lrn")


def reference_lrn(inputs: Sequence[AnyArray], a: LrnAttrs) -> AnyArray:
    """x / (bias + alpha / size * sum of squares of neighbouring channels) ^ beta"""
    x = wide(inputs[0])
    moved = np.moveaxis(x * x, a.axis, 0)
    before = (a.size - 1) // 2
    total = np.zeros_like(moved)
    for c in range(moved.shape[0]):
        total[c] = moved[max(0, c - before) : c - before + a.size].sum(axis=0)
    scale = a.bias + a.alpha / a.size * np.moveaxis(total, 0, a.axis)
    return (x / scale**a.beta).astype(inputs[0].dtype)


def _neighbours(
    b: CallMaker, value: GraphExpr, info: TensorStructInfo, axis: int, before: int, after: int
) -> GraphExpr:
    """For every element, the sum of those from `before` ahead to `after` behind along `axis`: the mean times count."""
    dims = named_dims(info, "nn.lrn")
    rows = prod(dims[:axis])
    columns = prod(dims[axis + 1 :])
    image = b.op("reshape", value, b.shape([rows, 1, dims[axis], columns]))
    size = before + after + 1
    mean = b.op("nn.avg_pool2d", image, pool_size=(size, 1), padding=(before, 0, after, 0), count_include_pad=True)
    return b.op("multiply", b.op("reshape", mean, b.shape(dims)), b.const(float(size), info.dtype))


def gradient_lrn(b: CallMaker, args: Exprs, a: LrnAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """grad * scale^-beta - 2 alpha beta / size * x * (sum of grad * x * scale^(-beta - 1) over those it is near)."""
    (x,) = args
    info = x.struct_info
    axis = from_front(a.axis, info.ndim)
    before = (a.size - 1) // 2
    behind = a.size - 1 - before
    squares = _neighbours(b, b.op("multiply", x, x), info, axis, before, behind)
    mean = b.op("multiply", squares, b.const(a.alpha / a.size, info.dtype))
    scale = b.op("add", mean, b.const(a.bias, info.dtype))
    direct = b.op("multiply", grad, b.op("power", scale, b.const(-a.beta, info.dtype)))
    near = _neighbours(b, b.op("divide", b.op("multiply", direct, x), scale), info, axis, behind, before)
    weight = b.const(2 * a.alpha * a.beta / a.size, info.dtype)
    return [b.op("subtract", direct, b.op("multiply", weight, b.op("multiply", x, near)))]


LRN = OpDef(
    "nn.lrn",
    LrnAttrs,
    inputs=(Input("data"),),
    infer=infer_lrn,
    compute=compute_lrn,
    reference=reference_lrn,
    gradient=gradient_lrn,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    layout=FollowsInput(axis="axis"),
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 7, 3)),), LrnAttrs(alpha=0.5), rtol=1e-4),
        Sample((Arr((2, 3, 4)),), LrnAttrs(size=3, axis=-1, alpha=0.5), rtol=1e-4),
    ),
    summary="Local response normalization: divide by a power of the mean square of neighbouring channels.",
)
