"""log_sum_exp: log(sum(exp(x))) over axes, with the greatest element taken out so that nothing overflows.

Neither Relay nor Relax of TVM has it as one operator; ONNX and PyTorch do. Floats only, dtype kept. The greatest
element itself counts 1, whatever it is: infinite ones do not become NaN. Of no elements it is -inf.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.layouts import Folds
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.attributes import ReduceAttrs, folded_axes
from baton._src.ops.reduce.folds import fold_compute, fold_samples, infer_fold, kept_indices, spread
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray


def infer(call: OpCall[ReduceAttrs]) -> Info:
    """The operand without the folded axes."""
    check_floats(call, 0)
    return infer_fold(call)


def compute(inputs: Sequence[k.Tensor], a: ReduceAttrs, out: k.Result) -> k.Tensor:
    """max, exp, sum, log: the stages of softmax."""
    (x,) = inputs
    axes = folded_axes(x.ndim, a)
    top = fold_compute(x, axes, a.keepdims, k.reduce_max, "greatest")

    def power(*i: k.Scalar) -> k.Scalar:
        here, most = k.wide(x(*i)), top(*kept_indices(i, x.ndim, axes, a.keepdims))
        return k.exp(k.select(k.tir.EQ(here, most), k.const(0, most.dtype), here - most))

    powers = k.compute(x.shape, power, "powers")
    total = fold_compute(powers, axes, a.keepdims, k.reduce_sum, "total")
    return k.compute(total.shape, lambda *i: k.cast(out.dtype, k.log(total(*i)) + top(*i)), "log_sum_exp")


def log_sum_exp(x: AnyArray, axis: tuple[int, ...], keepdims: bool) -> AnyArray:
    """Over NumPy."""
    top = np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        powers = np.exp(np.where(x == top, 0, x - top))
        found: AnyArray = np.log(np.sum(powers, axis=axis, keepdims=True)) + top
    return found if keepdims else np.squeeze(found, axis)


def reference(inputs: Sequence[AnyArray], a: ReduceAttrs) -> AnyArray:
    """The definition."""
    (x,) = inputs
    axes = folded_axes(np.asarray(x).ndim, a)
    return computed_wide(lambda v: log_sum_exp(v, axes, a.keepdims), np.asarray(x))


def gradient(b: CallMaker, args: Exprs, a: ReduceAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """g * exp(x - y): each element's share of the sum."""
    x = args[0]
    share = b.op("exp", b.op("subtract", x, spread(b, a, x, out)))
    return [b.op("multiply", spread(b, a, x, grad), share)]


LOG_SUM_EXP = OpDef(
    "log_sum_exp",
    ReduceAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.OUT_EWISE_FUSABLE,
    layout=Folds(),
    in_relax=False,
    samples=lambda: (
        *fold_samples(("float32", "float16")),
        Sample((Arr((2, 3), values=((0, -200, 90), (99, 98, 1))),), ReduceAttrs(axis=(1,))),
    ),
    summary="The logarithm of the sum of the powers over axes, computed without overflow.",
)
