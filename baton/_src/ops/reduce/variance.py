"""How far elements lie from their mean: variance, std. Attributes are those of folds.

Two stages over float32 for 16-bit floats: the mean, then the squares of what is beyond it. The variance divides by the
count (by count - 1 with Relay's `unbiased`). Relay's variance may be given what it is taken about (`with_mean`): a
tensor as the data with folded axes of extent 1. Source: facts relax-ops-passes-vm §1, relay-language §6 level 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import show_shape
from baton._src.ops.layouts import Folds
from baton._src.ops.operand_checks import check_floats
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.attributes import ReduceAttrs, folded_axes
from baton._src.ops.reduce.folds import (
    average,
    count_of,
    fold_compute,
    fold_samples,
    folded_shape,
    full_indices,
    infer_fold,
    shared,
    spread,
)
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray


@attrs
class VarianceAttrs(ReduceAttrs):
    """The same, and the divisor."""

    unbiased: bool = attr(False, "divide by count - 1", relay_only=True)


def _variance_gradient(
    b: CallMaker, args: Exprs, attributes: VarianceAttrs, out: GraphExpr, grad: GraphExpr
) -> Gradients:
    """2 (x - mean) / count, the count less one where unbiased; for a mean that is given the opposite, summed."""
    x, *given = args
    axes = folded_axes(x.struct_info.ndim, attributes)
    if not axes and not given:
        return [b.full_like(x, 0)]
    mean = given[0] if given else b.op("mean", x, axis=axes, keepdims=True)
    centred = b.op("subtract", x, mean)
    less = int(attributes.unbiased)
    slope = shared(b, attributes, x, b.op("add", centred, centred), less)
    to_x = b.op("multiply", slope, spread(b, attributes, x, grad))
    return [to_x, *(b.op("negative", b.op("sum", to_x, axis=axes, keepdims=True)) for _ in given)]


def _deviation_gradient(
    b: CallMaker, args: Exprs, attributes: VarianceAttrs, out: GraphExpr, grad: GraphExpr
) -> Gradients:
    """That of the variance, divided by twice the deviation; none where nothing deviates, as in PyTorch."""
    zero = b.full_like(out, 0)
    halved = b.op("where", b.op("equal", out, zero), zero, b.op("divide", grad, b.op("add", out, out)))
    return _variance_gradient(b, args, attributes, out, halved)


def _compute(inputs: Sequence[k.Tensor], attributes: VarianceAttrs, out: k.Result, root: bool = False) -> k.Tensor:
    """Sum of squares over count, the mean in a stage before them unless it is given."""
    x, *given = inputs
    axes = folded_axes(x.ndim, attributes)
    mean = given[0] if given else mean_stage(x, axes)
    squares = centred_squares(x, mean, axes, attributes.keepdims)
    count = count_of(x, axes, squares.dtype)
    if attributes.unbiased:
        count = count - k.const(1, squares.dtype)

    def finish(*i: k.Scalar) -> k.Scalar:
        value = squares(*i) / count
        return k.cast(out.dtype, k.sqrt(value) if root else value)

    return k.compute(squares.shape, finish) if root else k.compute(squares.shape, finish, "T_divide", axes="ax")


def _reference(inputs: Sequence[AnyArray], attributes: VarianceAttrs, root: bool = False) -> AnyArray:
    x, *given = map(np.asarray, inputs)
    axes = folded_axes(x.ndim, attributes)
    less = int(attributes.unbiased)

    def value(v: AnyArray, *mean: AnyArray) -> AnyArray:
        count = np.prod([v.shape[axis] for axis in axes]) - less
        if not mean and count > 0:
            found: AnyArray = (np.std if root else np.var)(v, axis=axes, keepdims=attributes.keepdims, ddof=less)
            return found
        centre = mean[0] if mean else average(v, axes, keepdims=True)
        found = np.sum((v - centre) ** 2, axis=axes, keepdims=attributes.keepdims) / v.dtype.type(count)
        return np.sqrt(found) if root else found

    return computed_wide(value, x, *given)


def _infer(call: OpCall[VarianceAttrs]) -> Info:
    x = call.tensor(0)
    check_floats(call, 0)
    if len(call.args) > 1:
        _check_mean(call, x, call.tensor(1))
    return infer_fold(call)


def _check_mean(call: OpCall[VarianceAttrs], x: TensorInfo, mean: TensorInfo) -> None:
    if not (x.dtype.is_void or mean.dtype.is_void) and mean.dtype != x.dtype:
        call.fail(f"the mean is {mean.dtype}, the data {x.dtype}", code="op-dtype")
    if x.shape is None or mean.ndim < 0:
        return
    gone = folded_axes(x.ndim, call.attrs)
    wanted = [1 if axis in gone else dim for axis, dim in enumerate(x.shape)]
    fits = mean.ndim == x.ndim and (
        mean.shape is None or all(call.prover.equal(w, m) is not False for w, m in zip(wanted, mean.shape))
    )
    if not fits:
        message = f"the mean has shape {show_shape(mean.shape, mean.ndim)}, where {show_shape(tuple(wanted))} is taken"
        call.fail(message, help="mean(data, axis, keepdims=True)")


def relay_variance(
    make: OwnMaker,
    data: GraphExpr,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    exclude: bool = False,
    unbiased: bool = False,
    with_mean: GraphExpr | None = None,
) -> GraphExpr:
    """TVM's order: the mean comes last."""
    operands = (data,) if with_mean is None else (data, with_mean)
    said = VarianceAttrs.said_in_relay({"axis": axis, "keepdims": keepdims, "exclude": exclude})
    return make(*operands, **said, unbiased=unbiased)


def _about_samples() -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 4)), Arr((1, 4))), VarianceAttrs(axis=(0,)), rtol=1e-4),
        Sample((Arr((2, 3), "float16"), Arr((2, 1), "float16")), VarianceAttrs(-1, keepdims=True), rtol=1e-2),
        Sample((Arr((2, 3)), Arr((1, 1))), VarianceAttrs(unbiased=True), rtol=1e-4),
    )


def _variance_to_relax(
    args: Exprs, a: VarianceAttrs
) -> tuple[Exprs, VarianceAttrs] | tuple[Exprs, VarianceAttrs, OpDef[VarianceAttrs]]:
    """In Relax the variance about a given mean is an operator of its own."""
    return (args, a) if len(args) < 2 else (args, a, VARIANCE_ABOUT)


VARIANCE = OpDef(
    "variance",
    VarianceAttrs,
    inputs=(Input("x", relay_name="data"), Input("mean", "computed if left out", optional=True, languages=("relay",))),
    infer=_infer,
    compute=_compute,
    reference=_reference,
    fusion=Fusion.OPAQUE,
    layout=Folds(),
    gradient=_variance_gradient,
    relay_builder=relay_variance,
    relay_to_relax=_variance_to_relax,
    samples=lambda: fold_samples(("float32", "float16"), VarianceAttrs),
    summary="The variance over axes.",
)

VARIANCE_ABOUT = OpDef(
    "variance_about",
    VarianceAttrs,
    inputs=(Input("x"), Input("mean")),
    infer=_infer,
    compute=_compute,
    reference=_reference,
    fusion=Fusion.OPAQUE,
    gradient=_variance_gradient,
    in_relax=False,
    relay_name=NotApplicable("Relay's variance has the mean as an operand"),
    samples=_about_samples,
    summary="The variance around a given mean.",
)

STD = OpDef(
    "std",
    VarianceAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=_infer,
    compute=lambda inputs, a, out: _compute(inputs, a, out, root=True),
    reference=lambda inputs, a: _reference(inputs, a, root=True),
    fusion=Fusion.OPAQUE,
    layout=Folds(),
    gradient=_deviation_gradient,
    samples=lambda: fold_samples(("float32", "float16"), VarianceAttrs),
    summary="The standard deviation over axes.",
)


def mean_stage(x: k.Tensor, axes: tuple[int, ...]) -> k.Tensor:
    """The mean over `axes`, which stay with extent 1, in the computing dtype (two stages: sum, divide)."""
    total = fold_compute(x, axes, True, k.reduce_sum)
    count = count_of(x, axes, total.dtype)
    return k.compute(total.shape, lambda *i: total(*i) / count, "T_divide", axes="ax")


def centred_squares(x: k.Tensor, mean: k.Tensor, axes: tuple[int, ...], keepdims: bool) -> k.Tensor:
    """The sum over `axes` of (x - mean)²; `mean` has the rank of x."""
    reduced = {i: k.reduce_axis(x.shape[i], f"k{i}") for i in axes}
    along = {i: axis.var for i, axis in reduced.items()}

    def body(*indices: k.Scalar) -> k.Scalar:
        where = full_indices(indices, x.ndim, along, keepdims)
        centre = [k.index(0) if i in axes else at for i, at in enumerate(where)]
        difference = k.wide(x(*where)) - k.wide(mean(*centre))
        value = difference * difference
        return k.reduce_sum(value, list(reduced.values())) if axes else value

    return k.compute(folded_shape(x, axes, keepdims), body, "T_multiply_red", axes="ax")


VARIANCES: tuple[OpDef[VarianceAttrs], ...] = (VARIANCE, VARIANCE_ABOUT, STD)
