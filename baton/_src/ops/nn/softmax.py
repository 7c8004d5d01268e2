"""Softmax: `exp(x - max) / sum(exp(x - max))` along one axis; log_softmax is its logarithm, computed directly.

Shape and dtype kept; floats only. Four stages (max, exp, sum, divide), so that schedules recognise it.
`nn.fast_softmax` is the same operator to Relay. Source: facts relay-language §6 level 1, relax-ops-passes-vm §1 (nn).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.folds import Fold, kept_indices
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray


@attrs
class SoftmaxAttrs(Attrs):
    """The axis."""

    axis: int = attr(-1, "the axis along which the results sum to one")


def infer(call: OpCall[SoftmaxAttrs]) -> Info:
    """The operand itself."""
    x = call.tensor(0)
    check_floats(call, 0)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
    return x


def _folded(x: k.Tensor, axis: int, fold: Fold, name: str) -> k.Tensor:
    """`fold` along the axis, in the computing dtype."""
    along = k.reduce_axis(x.shape[axis], "k")
    shape = [d for n, d in enumerate(x.shape) if n != axis]
    return k.compute(shape, lambda *i: fold(k.wide(x(*i[:axis], along.var, *i[axis:])), [along]), name)


def _stages(x: k.Tensor, axis: int) -> tuple[k.Tensor, k.Tensor]:
    """The maximum along the axis, and what every element is before normalisation."""
    top = _folded(x, axis, k.reduce_max, "T_softmax_maxelem")

    def shifted(*i: k.Scalar) -> k.Scalar:
        return k.exp(k.wide(x(*i)) - top(*kept_indices(i, x.ndim, (axis,), False)))

    return top, k.compute(x.shape, shifted, "T_softmax_exp")


def compute(inputs: Sequence[k.Tensor], attributes: SoftmaxAttrs, out: k.Result) -> k.Tensor:
    """max, exp, sum, divide."""
    (x,) = inputs
    axis = from_front(attributes.axis, x.ndim)
    _, powers = _stages(x, axis)
    total = _folded(powers, axis, k.reduce_sum, "T_softmax_expsum")

    def divided(*i: k.Scalar) -> k.Scalar:
        return k.cast(out.dtype, powers(*i) / total(*kept_indices(i, x.ndim, (axis,), False)))

    return k.compute(x.shape, divided, "T_softmax_norm")


def compute_log(inputs: Sequence[k.Tensor], attributes: SoftmaxAttrs, out: k.Result) -> k.Tensor:
    """max, exp, sum, subtract."""
    (x,) = inputs
    axis = from_front(attributes.axis, x.ndim)
    top, powers = _stages(x, axis)
    total = _folded(powers, axis, k.reduce_sum, "compute")

    def result(*i: k.Scalar) -> k.Scalar:
        at = kept_indices(i, x.ndim, (axis,), False)
        return k.cast(out.dtype, k.wide(x(*i)) - top(*at) - k.log(total(*at)))

    return k.compute(x.shape, result)


def softmax(x: AnyArray, axis: int) -> AnyArray:
    """Over NumPy."""
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    found: AnyArray = powers / np.sum(powers, axis=axis, keepdims=True)
    return found


def reference(inputs: Sequence[AnyArray], attributes: SoftmaxAttrs) -> AnyArray:
    """The definition."""
    return computed_wide(lambda x: softmax(x, attributes.axis), inputs[0])


def reference_log(inputs: Sequence[AnyArray], attributes: SoftmaxAttrs) -> AnyArray:
    """The definition."""

    def log_softmax(x: AnyArray) -> AnyArray:
        shifted = x - np.max(x, axis=attributes.axis, keepdims=True, initial=-np.inf)
        found: AnyArray = shifted - np.log(np.sum(np.exp(shifted), axis=attributes.axis, keepdims=True))
        return found

    return computed_wide(log_softmax, inputs[0])


def gradient(b: CallMaker, args: Exprs, attributes: SoftmaxAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """(g - sum(g * y)) * y"""
    inner = b.op("sum", b.op("multiply", grad, out), axis=attributes.axis, keepdims=True)
    return [b.op("multiply", b.op("subtract", grad, inner), out)]


def gradient_log(b: CallMaker, args: Exprs, attributes: SoftmaxAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """g - sum(g) * exp(y)"""
    inner = b.op("sum", grad, axis=attributes.axis, keepdims=True)
    return [b.op("subtract", grad, b.op("multiply", inner, b.op("exp", out)))]


def samples() -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 10)),), SoftmaxAttrs()),
        Sample((Arr(("n", 4, "m")),), SoftmaxAttrs(axis=1)),
        Sample((Arr((2, 5), "float16"),), SoftmaxAttrs(), rtol=1e-2, atol=1e-3),
        Sample((Arr((5,), "bfloat16"),), SoftmaxAttrs(axis=0), rtol=3e-2, atol=1e-2),
    )


_X = (Input("data", "what to normalise"),)

SOFTMAX = OpDef(
    "nn.softmax",
    SoftmaxAttrs,
    inputs=_X,
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    layout=FollowsInput(axis="axis"),
    samples=samples,
)

LOG_SOFTMAX = OpDef(
    "nn.log_softmax",
    SoftmaxAttrs,
    inputs=_X,
    infer=infer,
    compute=compute_log,
    reference=reference_log,
    gradient=gradient_log,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    layout=FollowsInput(axis="axis"),
    samples=samples,
    summary="The logarithm of softmax along one axis, computed without overflow.",
)

FAST_SOFTMAX = OpDef(
    "nn.fast_softmax",
    SoftmaxAttrs,
    inputs=_X,
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("introduced by FastMath, after differentiation"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    in_relax=False,
    samples=samples,
    summary="Softmax under the name that Relay's FastMath pass uses.",
)
