"""Folds over axes: sum, mean, prod, max, min, all, any. Rows become OpDefs.

`axis` None folds everything (in Relay an empty list does, too); `keepdims` leaves folded axes with extent 1; Relay's
`exclude` folds the axes *not* named: where none is, everything. Dtype kept (mean of integers truncates); sums of 16-bit
floats are kept in float32. The largest of no elements is the least value there is (-inf of floats), the smallest the
greatest. Source: facts relax-ops-passes-vm §1, relay-language §6 level 4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradient, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import as_axes, normal_axes
from baton._src.ops.layouts import Folds
from baton._src.ops.means import refuse_bools, summing_dtype
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.attributes import Folding, ReduceAttrs, folded_axes
from baton._src.ops.samples import Arr, Sample
from baton._src.relax.nodes import ShapeExpr
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm, IterVar
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

Fold = Callable[[k.Scalar, Sequence[IterVar]], k.Scalar]


@dataclass(frozen=True)
class Row:
    """One fold: `fold(scalar, axes)` in te, `numpy(array, axis, keepdims)`."""

    name: str
    fold: Fold
    numpy: Callable[[AnyArray, tuple[int, ...], bool], AnyArray]
    gradient: Gradient[ReduceAttrs] | NotApplicable
    bools: bool = False
    divides: bool = False
    in_relax: bool = True


def infer_fold(call: OpCall[Folding]) -> Info:
    """The operand without the folded axes."""
    x = call.tensor(0)
    a = call.attrs
    if x.ndim < 0:
        rank = 0 if a.axis is None and not a.keepdims else -1
        return TensorInfo(() if rank == 0 else None, x.dtype, rank, x.vdevice)
    if a.axis is not None:
        normal_axes(call, as_axes(a.axis) or (), x.ndim)
    gone = folded_axes(x.ndim, a)
    if x.shape is None:
        rank = x.ndim if a.keepdims else x.ndim - len(gone)
        shape = (() if rank == 0 else None) if not a.keepdims or rank != len(gone) else (1,) * rank
        return TensorInfo(shape, x.dtype, rank, x.vdevice)
    if a.keepdims:
        kept = tuple(1 if i in gone else d for i, d in enumerate(x.shape))
    else:
        kept = tuple(d for i, d in enumerate(x.shape) if i not in gone)
    return TensorInfo(kept, x.dtype, vdevice=x.vdevice)


def folded_shape(x: k.Tensor, axes: tuple[int, ...], keepdims: bool) -> list[k.Scalar]:
    """The dims that are left of those of `x`."""
    if keepdims:
        return [k.index(1) if i in axes else d for i, d in enumerate(x.shape)]
    return [d for i, d in enumerate(x.shape) if i not in axes]


def full_indices(indices: k.Indices, ndim: int, along: Mapping[int, k.Scalar], keepdims: bool) -> list[k.Scalar]:
    """The index in the full shape of an index in the folded tensor; `along` are those of the folded axes."""
    if keepdims:
        return [along.get(i, at) for i, at in enumerate(indices)]
    kept = iter(indices)
    return [along[i] if i in along else next(kept) for i in range(ndim)]


def fold_compute(
    x: k.Tensor,
    axes: tuple[int, ...],
    keepdims: bool,
    fold: Fold,
    name: str | None = None,
    element: Callable[[k.Scalar], k.Scalar] = k.wide,
) -> k.Tensor:
    """`fold` of `element(x[...])` over `axes`; the result, unless told `{x.name}_red`, is in the computing dtype."""
    reduced = {i: k.reduce_axis(x.shape[i], f"k{i}") for i in axes}
    along = {i: axis.var for i, axis in reduced.items()}

    def body(*indices: k.Scalar) -> k.Scalar:
        value = element(x(*full_indices(indices, x.ndim, along, keepdims)))
        return fold(value, list(reduced.values())) if axes else value

    return k.compute(folded_shape(x, axes, keepdims), body, name or f"{x.name}_red", axes="ax")


def kept_indices(indices: k.Indices, ndim: int, axes: tuple[int, ...], keepdims: bool) -> list[k.Scalar]:
    """The index in the reduced tensor of an index in the full shape."""
    if keepdims:
        return [k.index(0) if i in axes else indices[i] for i in range(ndim)]
    return [indices[i] for i in range(ndim) if i not in axes]


def count_of(x: k.Tensor, axes: tuple[int, ...], dtype: DataType) -> k.Scalar:
    """How many elements are folded into one, as a scalar of `dtype`."""
    total = k.index(1)
    for axis in axes:
        total = total * k.index(x.shape[axis])
    return k.cast(dtype, total)


def _define(row: Row) -> OpDef[ReduceAttrs]:
    def infer(call: OpCall[ReduceAttrs]) -> Info:
        x = call.tensor(0)
        if row.bools and not x.dtype.is_void and not x.dtype.is_bool:
            call.fail(f"takes bool elements, got {x.dtype}", code="op-dtype", help='astype(x, "bool") first')
        if row.divides:
            refuse_bools(call, x)
        return infer_fold(call)

    def compute(inputs: Sequence[k.Tensor], attributes: ReduceAttrs, out: k.Result) -> k.Tensor:
        (x,) = inputs
        axes = folded_axes(x.ndim, attributes)
        summed = summing_dtype(x.dtype)
        element = (lambda value: k.cast(summed, value)) if row.divides else k.wide
        folded = fold_compute(x, axes, attributes.keepdims, row.fold, element=element)
        if row.divides:
            count = count_of(x, axes, folded.dtype)
            return k.compute(
                folded.shape, lambda *i: k.cast(out.dtype, k.tir.Div(folded(*i), count)), "T_divide", axes="ax"
            )
        return narrowed(folded, out)

    def reference(inputs: Sequence[AnyArray], attributes: ReduceAttrs) -> AnyArray:
        (x,) = inputs
        axes = folded_axes(np.asarray(x).ndim, attributes)
        return computed_wide(lambda v: row.numpy(v, axes, attributes.keepdims), np.asarray(x))

    return OpDef(
        row.name,
        ReduceAttrs,
        inputs=(Input("x", relay_name="data"),),
        infer=infer,
        compute=compute,
        reference=reference,
        fusion=Fusion.COMM_REDUCE,
        layout=Folds(),
        gradient=row.gradient,
        in_relax=row.in_relax,
        samples=lambda: fold_samples(("bool",) if row.bools else ("float32", "int32", "float16")),
        summary=f"The {row.name} over axes.",
    )


def narrowed(x: k.Tensor, out: k.Result) -> k.Tensor:
    """`x` rounded to the dtype of the result, where that differs."""
    if x.dtype == out.dtype:
        return x
    return k.compute(x.shape, lambda *i: k.cast(out.dtype, x(*i)), f"{x.name}_cast")


def _np_sum(x: AnyArray, axis: int | tuple[int, ...], keepdims: bool) -> AnyArray:
    found: AnyArray = np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    return found


def _np_prod(x: AnyArray, axis: int | tuple[int, ...], keepdims: bool) -> AnyArray:
    found: AnyArray = np.prod(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    return found


def greatest(x: AnyArray, axis: int | tuple[int, ...], keepdims: bool = False) -> AnyArray:
    """NumPy's maximum; of no elements the least value of the dtype, with which kernels start."""
    found: AnyArray = np.max(x, axis=axis, keepdims=keepdims, initial=_range(x.dtype)[0])
    return found


def _np_min(x: AnyArray, axis: int | tuple[int, ...], keepdims: bool) -> AnyArray:
    found: AnyArray = np.min(x, axis=axis, keepdims=keepdims, initial=_range(x.dtype)[1])
    return found


def _range(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The least and the greatest value there is."""
    if dtype == np.bool_:
        return False, True
    return (np.iinfo(dtype).min, np.iinfo(dtype).max) if np.issubdtype(dtype, np.integer) else (-np.inf, np.inf)


def average(x: AnyArray, axis: int | tuple[int, ...], keepdims: bool = False) -> AnyArray:
    """NumPy's; of integers cut off, and 0 of none, as kernels divide."""
    if not np.issubdtype(x.dtype, np.integer):
        if x.size:
            found: AnyArray = np.mean(x, axis=axis, keepdims=keepdims)
            return found
        with np.errstate(invalid="ignore"):  # NumPy's mean of nothing warns all the same
            found = np.sum(x, axis=axis, keepdims=keepdims) / x.dtype.type(0)
            return found
    total = np.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype if x.dtype.itemsize == 8 else np.int64)
    count = x.size // max(total.size, 1)
    found = np.sign(total) * (np.abs(total) // max(count, 1))
    return found


def spread(b: CallMaker, attributes: ReduceAttrs, x: GraphExpr, value: GraphExpr) -> GraphExpr:
    """A folded tensor spread over the shape of `x` again; a scalar needs no axes for that."""
    if not attributes.keepdims and attributes.axis is not None:
        axes = folded_axes(x.struct_info.ndim, attributes)
        if axes:
            value = b.op("expand_dims", value, axis=axes)
    return b.op("broadcast_to", value, b.shape_of(x))


def _sum_gradient(b: CallMaker, args: Exprs, attributes: ReduceAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    return [spread(b, attributes, args[0], grad)]


def shared(b: CallMaker, attributes: ReduceAttrs, x: GraphExpr, value: GraphExpr, less: int = 0) -> GraphExpr:
    """`value` divided by how many elements of `x` each fold takes, `less` some: a number where its dims are, else ones
    are counted. The number is 1 / count: sixteen bits hold no count above 65504.
    """
    info = x.struct_info
    axes = folded_axes(info.ndim, attributes)
    dims = [info.shape[a] if isinstance(info.shape, ShapeExpr) else None for a in axes]
    known = [d.value for d in dims if isinstance(d, IntImm)]
    if len(known) == len(axes):
        with np.errstate(divide="ignore"):
            share = np.divide(1.0, math.prod(known) - less)
        return b.op("multiply", value, b.const(float(share), info.dtype))
    count = b.op("sum", b.full_like(x, 1), axis=axes, keepdims=True)
    return b.op("divide", value, b.op("subtract", count, b.full_like(count, less)) if less else count)


def _mean_gradient(b: CallMaker, args: Exprs, attributes: ReduceAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    x = args[0]
    return [shared(b, attributes, x, spread(b, attributes, x, grad))]


def _extremum_gradient(
    b: CallMaker, args: Exprs, attributes: ReduceAttrs, out: GraphExpr, grad: GraphExpr
) -> Gradients:
    """Elements that tie share the gradient equally, as in Relay's gradient of max (Relax's TVM has none)."""
    x = args[0]
    axes = folded_axes(x.struct_info.ndim, attributes)
    if not axes:
        return [grad]
    hit = b.op("equal", x, spread(b, attributes, x, out))
    zero = b.full_like(x, 0)
    count = b.op("sum", b.op("where", hit, b.full_like(x, 1), zero), axis=axes, keepdims=True)
    return [b.op("where", hit, b.op("divide", spread(b, attributes, x, grad), count), zero)]


def _prod_gradient(b: CallMaker, args: Exprs, attributes: ReduceAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The product of all other elements. With one zero only that element has a gradient, with two none has."""
    x = args[0]
    axes = folded_axes(x.struct_info.ndim, attributes)
    if not axes:
        return [grad]
    zero, one = b.full_like(x, 0), b.full_like(x, 1)
    is_zero = b.op("equal", x, zero)
    filled = b.op("where", is_zero, one, x)
    count = b.op("sum", b.op("where", is_zero, one, zero), axis=axes, keepdims=True)
    zeros = b.op("broadcast_to", count, b.shape_of(x))
    others = b.op("broadcast_to", b.op("prod", filled, axis=axes, keepdims=True), b.shape_of(x))
    alone = b.op("where", b.op("equal", zeros, one), others, zero)
    rest = b.op("where", b.op("equal", zeros, zero), b.op("divide", others, filled), zero)
    return [b.op("multiply", b.op("where", is_zero, alone, rest), spread(b, attributes, x, grad))]


def _logical(name: str, combine: str) -> OpDef[ReduceAttrs]:
    """all and any fold uint8 zeros and ones, then compare."""

    def compute(inputs: Sequence[k.Tensor], attributes: ReduceAttrs, out: k.Result) -> k.Tensor:
        (x,) = inputs
        axes = folded_axes(x.ndim, attributes)
        fold = k.reduce_min if combine == "min" else k.reduce_max
        folded = fold_compute(x, axes, attributes.keepdims, fold, element=lambda v: k.cast("uint8", v))
        return k.compute(folded.shape, lambda *i: folded(*i) != k.const(0, "uint8"), f"{name}_test")

    def whether(x: AnyArray, axis: tuple[int, ...], keepdims: bool) -> AnyArray:
        found: AnyArray = (np.all if combine == "min" else np.any)(x, axis=axis, keepdims=keepdims)
        return found

    base = _define(
        Row(name, k.reduce_max, whether, bools=True, in_relax=False, gradient=NotApplicable("not differentiable"))
    )
    return OpDef(
        name,
        ReduceAttrs,
        inputs=base.inputs,
        infer=base.infer,
        compute=compute,
        reference=base.reference,
        fusion=Fusion.COMM_REDUCE,
        layout=Folds(),
        gradient=NotApplicable("not differentiable"),
        in_relax=False,
        samples=base.samples,
        summary=base.summary,
    )


def fold_samples(dtypes: tuple[str, ...], record: type[ReduceAttrs] = ReduceAttrs) -> tuple[Sample, ...]:
    """Calls to try, in every dtype."""
    first = dtypes[0]
    return (
        *(Sample((Arr(("n", 5), d),), record(axis=(1,)), rtol=2e-2 if d == "float16" else 1e-5) for d in dtypes),
        Sample((Arr(("n", 4, "m"), first),), record(axis=(0, -1), keepdims=True)),
        Sample((Arr((2, "m"), first),), record()),
        Sample((Arr((2, 3, 4), first),), record(axis=(1,), exclude=True)),
    )


ROWS = (
    Row("sum", k.reduce_sum, _np_sum, gradient=_sum_gradient),
    Row("mean", k.reduce_sum, average, divides=True, gradient=_mean_gradient),
    Row("prod", k.reduce_product, _np_prod, gradient=_prod_gradient),
    Row("max", k.reduce_max, greatest, gradient=_extremum_gradient),
    Row("min", k.reduce_min, _np_min, gradient=_extremum_gradient),
)

FOLDS: tuple[OpDef[ReduceAttrs], ...] = (
    *(_define(row) for row in ROWS),
    _logical("all", "min"),
    _logical("any", "max"),
)
