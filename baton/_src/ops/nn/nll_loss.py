"""The negative log-likelihood of targets: nn.nll_loss and its gradient towards the predictions.

-weight[target] * prediction[target], summed, averaged by weight, or left apart; targets equal to `ignore_index` count
nothing. predictions (C,) or (N, C, ...), targets () or (N, ...). Source: facts relax-ops-passes-vm §1 (nn),
relay-language §6 level 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, as_dim, show_shape
from baton._src.ops.operand_checks import check_floats, check_integers, check_operand, check_ranks
from baton._src.ops.precision import wide
from baton._src.ops.reduce.folds import fold_compute
from baton._src.ops.said_dims import said_dims
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import literal
from baton._src.values.tensor import AnyArray


@attrs
class NllLossAttrs(Attrs):
    """Reduction and the target that does not count."""

    reduction: str = attr("mean", "mean, sum or none")
    ignore_index: int = attr(-100, "the target that counts nothing")


def infer_nll(call: OpCall[NllLossAttrs]) -> Info:
    """A scalar, or the shape of the targets."""
    a, x, t = call.attrs, call.tensor(0), call.tensor(1)
    if a.reduction not in ("mean", "sum", "none"):
        call.fail(f"reduction {a.reduction!r} is not one of mean, sum, none", code="op-attribute")
    check_floats(call, 0)
    check_integers(call, 1)
    if x.ndim == 0:
        call.fail("predictions must have a class axis, got a scalar")
    if x.ndim > 0 and t.ndim >= 0 and t.ndim != x.ndim - 1:
        call.fail(f"targets must have rank {x.ndim - 1}, got {show_shape(t.shape, t.ndim)}")
    if len(call.args) > 2:
        same_dtype(call, [x, call.tensor(2)])
        check_ranks(call, None, None, 1)
    math = DimMath(call.prover)
    if x.shape is not None and len(call.args) > 2 and (weights := call.tensor(2).shape) is not None:
        classes = x.shape[0] if len(x.shape) == 1 else x.shape[1]
        if math.equal(classes, weights[0]) is False:
            call.fail(f"weights {show_shape(weights)} do not fit the {classes} classes of {show_shape(x.shape)}")
    if x.shape is not None and t.shape is not None:
        kept = x.shape[1:] if len(x.shape) == 1 else (x.shape[0], *x.shape[2:])
        if any(math.equal(p, q) is False for p, q in zip(kept, t.shape)):
            call.fail(f"predictions {show_shape(x.shape)} do not fit targets {show_shape(t.shape)}")
    if a.reduction != "none":
        return TensorInfo((), x.dtype, vdevice=x.vdevice)
    return TensorInfo(t.shape, x.dtype, t.ndim, x.vdevice)


def compute_nll(inputs: Sequence[k.Tensor], a: NllLossAttrs, out: k.Result) -> k.Tensor:
    """Weights of the targets, products, sums."""
    x, t, *weights = inputs
    kept = k.sum_dtype(x.dtype)

    def weight(*i: k.Scalar) -> k.Scalar:
        target = k.index(t(*i))
        value = k.cast(kept, weights[0](target)) if weights else k.const(1, kept)
        return k.if_then_else(k.tir.EQ(target, k.index(a.ignore_index)), k.const(0, kept), value)

    def loss(*i: k.Scalar) -> k.Scalar:
        target = k.index(t(*i))
        where = (target, *i) if x.ndim == 1 else (i[0], target, *i[1:])
        counts = k.tir.NE(target, k.index(a.ignore_index))
        value = k.const(-1, kept) * k.cast(kept, x(*where)) * weighed(*i)
        return k.if_then_else(counts, value, k.const(0, kept))

    weighed = k.compute(t.shape, weight, "weights")
    losses = k.compute(t.shape, loss, "losses")
    if a.reduction == "none":
        return k.compute(t.shape, lambda *i: k.cast(out.dtype, losses(*i)), "nll_loss")
    axes = tuple(range(t.ndim))
    total = fold_compute(losses, axes, False, k.reduce_sum, "sum")
    if a.reduction == "sum":
        return k.compute((), lambda: k.cast(out.dtype, total()), "nll_loss")
    count = fold_compute(weighed, axes, False, k.reduce_sum, "weight_sum")
    return k.compute((), lambda: k.cast(out.dtype, total() / count()), "nll_loss")


def reference_nll(inputs: Sequence[AnyArray], a: NllLossAttrs) -> AnyArray:
    """The definition."""
    x, t = wide(inputs[0]), np.asarray(inputs[1])
    classes = x if x.ndim == 1 else np.moveaxis(x, 1, -1)
    _check_targets(t, classes.shape[-1], a)
    counts = t != a.ignore_index
    safe = np.where(counts, t, 0)
    weights = wide(inputs[2])[safe] if len(inputs) > 2 else np.ones(t.shape, x.dtype)
    weights = np.where(counts, weights, 0)
    picked = np.take_along_axis(classes, safe[..., None], axis=-1)[..., 0]
    losses = np.where(counts, -picked * weights, 0)  # what is ignored may be infinite
    if a.reduction == "none":
        return losses.astype(inputs[0].dtype)
    total = np.sum(losses)
    with np.errstate(all="ignore"):
        return np.asarray(total / np.sum(weights) if a.reduction == "mean" else total).astype(inputs[0].dtype)


def _check_targets(t: AnyArray, classes: int, a: NllLossAttrs) -> None:
    outside = (t != a.ignore_index) & ((t < 0) | (t >= classes))
    if outside.any():
        raise IndexError(f"target {t[outside].flat[0]} is out of range for {classes} classes")


def gradient_nll(b: CallMaker, args: Exprs, a: NllLossAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """-1 where a target is, weighed, divided by the sum of the weights that count; the weights' by the product rule."""
    found, hot, step = _to_predictions(b, grad, args, a)
    pieces: list[GraphExpr | None] = [found, None]
    if len(args) > 2:
        info = args[0].struct_info
        others = tuple(n for n in range(info.ndim) if n != (0 if info.ndim == 1 else 1))
        values = b.op("add", args[0], out) if a.reduction == "mean" else args[0]
        product = b.op("multiply", b.op("multiply", hot, values), step)
        pieces.append(b.op("sum", product, axis=others) if others else product)
    return pieces


def _to_predictions(
    b: CallMaker, grad: GraphExpr, args: Exprs, a: NllLossAttrs
) -> tuple[GraphExpr, GraphExpr, GraphExpr]:
    """The gradient for the predictions; 1 where a target is that counts; the gradient of one unit of weight."""
    x, t, *weights = args
    info = x.struct_info
    axis = 0 if info.ndim == 1 else 1
    hot = _one_hot(b, x, t, axis)
    numbers = b.op("astype", t, dtype="int64")  # the ignored one may be none that targets can hold
    counts = b.op("astype", b.op("not_equal", numbers, b.const(a.ignore_index, "int64")), dtype=info.dtype)
    hot = b.op("multiply", hot, b.op("expand_dims", counts, axis=(axis,)))
    others = tuple(n for n in range(info.ndim) if n != axis)
    weighed = hot
    if weights:
        spread = b.op("expand_dims", weights[0], axis=others) if others else weights[0]
        weighed = b.op("multiply", hot, spread)
    step = b.op("negative", b.op("expand_dims", grad, axis=(axis,)) if a.reduction == "none" else grad)
    if a.reduction == "mean":
        step = b.op("divide", step, b.op("sum", weighed))
    return b.op("multiply", weighed, step), hot, step


def _one_hot(b: CallMaker, x: GraphExpr, t: GraphExpr, axis: int) -> GraphExpr:
    """1 where a class is the target's, 0 elsewhere, in the shape and dtype of the predictions `x`."""
    info = x.struct_info
    classes = _classes(x)
    if classes is None:
        raise fail(
            "op-gradient",
            f"nn.nll_loss: the number of classes of predictions that are {info!r} is not known",
            help="give them a shape, by R.match_cast, say",
        )
    classes = as_dim(classes)
    if isinstance(classes, int):
        one, zero = (literal(v, info.dtype) for v in (1.0, 0.0))
        return b.op("one_hot", t, one, zero, depth=classes, axis=axis)
    bounds = (literal(v, classes.dtype) for v in (0, classes, 1))
    numbers = b.op("arange", *bounds, dtype=t.struct_info.dtype)
    others = tuple(n for n in range(info.ndim) if n != axis)
    numbers = b.op("expand_dims", numbers, axis=others) if others else numbers
    return b.op("astype", b.op("equal", b.op("expand_dims", t, axis=(axis,)), numbers), dtype=info.dtype)


def _classes(x: GraphExpr) -> Dim | None:
    """The number of classes of the predictions `x`; None if unknown."""
    dims = said_dims(x.struct_info_)
    return None if dims is None else dims[0 if len(dims) == 1 else 1]


def infer_nll_backward(call: OpCall[NllLossAttrs]) -> Info:
    """The predictions' own type. The gradient has the type of the loss."""
    check_operand(call, 0, infer_nll(replace(call, args=call.args[1:])))
    return call.tensor(1)


def compute_nll_backward(inputs: Sequence[k.Tensor], a: NllLossAttrs, out: k.Result) -> k.Tensor:
    """Weights of the targets, what is divided by their sum, and that at the targets' places."""
    grad, x, t, *weights = inputs
    kept, axis = k.sum_dtype(x.dtype), min(x.ndim - 1, 1)
    ignored = k.index(a.ignore_index)

    def weight(*i: k.Scalar) -> k.Scalar:
        target = k.within(k.index(t(*i)), k.index(x.shape[axis]), "target {0} is out of range for {1} classes")
        value = weights[0](target) if weights else k.tir.GE(target, k.index(0))
        return k.if_then_else(k.tir.EQ(k.index(t(*i)), ignored), k.const(0, kept), k.cast(kept, value))

    weighed = k.compute(t.shape, weight, "weights")
    count = fold_compute(weighed, tuple(range(t.ndim)), False, k.reduce_sum, "weight_sum")

    def slope(*i: k.Scalar) -> k.Scalar:
        step = k.cast(kept, grad(*i) if a.reduction == "none" else grad()) * weighed(*i)
        return k.const(0, kept) - (step / count() if a.reduction == "mean" else step)

    slopes = k.compute(t.shape, slope, "slopes")

    def body(*i: k.Scalar) -> k.Scalar:
        at = (*i[:axis], *i[axis + 1 :])
        is_target = k.tir.EQ(k.index(t(*at)), i[axis])
        return k.cast(out.dtype, k.select(is_target, slopes(*at), k.const(0, kept)))

    return k.compute(x.shape, body, "nll_loss_backward")


def reference_nll_backward(inputs: Sequence[AnyArray], a: NllLossAttrs) -> AnyArray:
    """-weight at the target's place, times the gradient, divided by the weights that count for the mean."""
    grad, x, t = (np.asarray(i) for i in inputs[:3])
    depth = x.shape[0] if x.ndim == 1 else x.shape[1]
    _check_targets(t, depth, a)
    weights = np.asarray(inputs[3]) if len(inputs) > 3 else np.ones(depth, x.dtype)
    counted = np.where(t == a.ignore_index, 0, weights[np.where(t == a.ignore_index, 0, t)])
    step = -grad * counted / (counted.sum() if a.reduction == "mean" else 1)
    found = np.zeros(x.shape if x.ndim > 1 else (1, depth), np.float64)
    targets, steps = (np.asarray(v).reshape(t.shape or (1,)) for v in (t, step))
    for place in np.ndindex(targets.shape):
        if targets[place] != a.ignore_index:
            found[place[0], targets[place], *place[1:]] = steps[place]
    return found.reshape(x.shape).astype(x.dtype)


NLL_LOSS = OpDef(
    "nn.nll_loss",
    NllLossAttrs,
    inputs=(
        Input("predictions", "log-probabilities"),
        Input("targets", "classes"),
        Input("weights", "of the classes", optional=True),
    ),
    infer=infer_nll,
    compute=compute_nll,
    reference=reference_nll,
    gradient=gradient_nll,
    fusion=Fusion.OPAQUE,
    samples=lambda: (
        Sample((Arr(("n", 4)), Arr(("n",), "int64", 0, 4), Arr((4,), "float32", 0.5, 1)), NllLossAttrs()),
        Sample((Arr((2, 3, 4)), Arr((2, 4), "int32", 0, 3)), NllLossAttrs("none", 1)),
        Sample((Arr((3,)), Arr((), "int32", 0, 3)), NllLossAttrs("sum")),
    ),
    summary="The negative log-likelihood loss of the targets.",
)

NLL_LOSS_BACKWARD = OpDef(
    "grad.nll_loss_backward",
    NllLossAttrs,
    inputs=(
        Input("output_grad", "the gradient of the loss"),
        Input("predictions", "log-probabilities"),
        Input("targets", "classes"),
        Input("weights", "of the classes", optional=True),
    ),
    infer=infer_nll_backward,
    compute=compute_nll_backward,
    reference=reference_nll_backward,
    gradient=NotApplicable("of second order"),
    fusion=Fusion.OPAQUE,
    relay_name=NotApplicable("Relay differentiates nn.nll_loss itself"),
    samples=lambda: (
        Sample((Arr((2,)), Arr((2, 4)), Arr((2,), "int64", 0, 4), Arr((4,), "float32", 0.5, 1)), NllLossAttrs("none")),
        Sample((Arr(()), Arr((2, 3, 4)), Arr((2, 4), "int32", 0, 3)), NllLossAttrs("mean", 1)),
        Sample((Arr(()), Arr((3,)), Arr((), "int32", 0, 3)), NllLossAttrs("sum")),
    ),
    summary="The gradient of nn.nll_loss with respect to its predictions.",
)

NLL_LOSSES: tuple[Definition, ...] = (NLL_LOSS, NLL_LOSS_BACKWARD)
