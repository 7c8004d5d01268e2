"""Operators whose result's shape depends on the elements: nonzero, argwhere, unique. The first two are counted before
they are filled (`places`); else NumPy answers when they run.

    nonzero(x)   int64 (rank, count): the coordinates of non-zero elements, an axis a row
    argwhere(x)  int32 (count, rank): the same, an element a row
    unique(x)    the distinct elements, ascending (in order of appearance if not `sorted`), with where they came from

Relax's `unique` has its options as host scalars; Relay's gives results of the operand's length and how much of them
counts. Source: facts relax-ops-passes-vm §1 (set), relay-language §6 levels 3 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Counted, Definition, Fusion, Input, NotApplicable, OpCall, OpDef, kind_in_words
from baton._src.ir.tensor_info import Info, PrimInfo, TensorInfo, TupleInfo
from baton._src.ops.axes import normal_axis
from baton._src.ops.index.places import count_places, fill_by_axis, fill_by_place
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import BOOL, INT32, INT64
from baton._src.values.tensor import AnyArray

_NO_KERNEL = NotApplicable("the shape of the result depends on the elements")
_NO_SLOPE = NotApplicable("piecewise constant")


def infer_nonzero(call: OpCall[Attrs]) -> Info:
    """As many rows as the operand has axes (one for a scalar)."""
    x = call.tensor(0)
    return TensorInfo(None, INT64, 2, x.vdevice)


def reference_nonzero(inputs: Sequence[AnyArray], attributes: Attrs) -> AnyArray:
    """`numpy.nonzero`, stacked."""
    return np.stack(np.nonzero(np.atleast_1d(inputs[0]))).astype(np.int64)


NONZERO: Definition = OpDef(
    "nonzero",
    inputs=(Input("x"),),
    infer=infer_nonzero,
    compute=_NO_KERNEL,
    reference=reference_nonzero,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    counted=Counted(count_places, lambda rank, n: (max(rank, 1), n), fill_by_axis),
    relay_name=NotApplicable("Relay has argwhere"),
    samples=lambda: (Sample((Arr((3, 4), "bool"),)), Sample((Arr((5,), "int32", 0, 2),)), Sample((Arr((), "int32"),))),
    summary="The coordinates of the non-zero elements.",
)


def infer_argwhere(call: OpCall[Attrs]) -> Info:
    """A row an element."""
    x = call.tensor(0)
    if x.ndim < 0:
        return TensorInfo(None, INT32, 2, x.vdevice)
    return TensorInfo((AnyDim(), x.ndim), INT32, vdevice=x.vdevice)


ARGWHERE: Definition = OpDef(
    "argwhere",
    inputs=(Input("condition"),),
    infer=infer_argwhere,
    compute=_NO_KERNEL,
    reference=lambda inputs, a: np.argwhere(inputs[0]).astype(np.int32),
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    counted=Counted(count_places, lambda rank, n: (n, rank), fill_by_place),
    in_relax=False,
    samples=lambda: (),
    summary="The coordinates of the non-zero elements, one per row.",
)


# ----------------------------------------------------------------------------------------------------- unique


def _option(call: OpCall[Attrs], position: int, default: bool | None) -> bool | float | None:
    """The value of a host scalar; the call fails if it is not known."""
    if position >= len(call.args):
        return default
    found = call.args[position]
    if not isinstance(found, PrimInfo) or not isinstance(found.value, (int, float)):
        name = call.op.inputs[position].name
        given = "one that is not known" if isinstance(found, PrimInfo) else kind_in_words(found)
        call.fail(f"{name} must be a number that is known when compiling, got {given}", code="op-argument")
    value = found.value
    return bool(value) if found.dtype == BOOL else value


def infer_unique(call: OpCall[Attrs]) -> Info:
    """Distinct elements, then first places, inverse and counts where asked for."""
    x = call.tensor(0)
    index, inverse, counts = (bool(_option(call, i, False)) for i in (2, 3, 4))
    axis = _option(call, 5, None)
    if axis is not None and x.ndim >= 0:
        normal_axis(call, int(axis), x.ndim)
    first = TensorInfo(None, x.dtype, 1 if axis is None else x.ndim, x.vdevice)
    more = [TensorInfo(None, INT64, 1, x.vdevice) for wanted in (index, inverse, counts) if wanted]
    return TupleInfo((first, *more)) if more else first


def distinct(x: AnyArray, ordered: bool, axis: int | None) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """Distinct elements (rows along `axis`), their first places, the inverse and the counts."""
    values, first, inverse, counts = np.unique(
        wide(x), return_index=True, return_inverse=True, return_counts=True, axis=axis
    )
    inverse = inverse.reshape(-1)
    if not ordered:
        appearance = np.argsort(first, kind="stable")
        rank = np.empty_like(appearance)
        rank[appearance] = np.arange(len(appearance))
        values = np.take(values, appearance, axis=0 if axis is None else axis)
        first, counts, inverse = first[appearance], counts[appearance], rank[inverse]
    return values.astype(x.dtype, copy=False), first, inverse, counts


def reference_unique(inputs: tuple[AnyArray, *tuple[int, ...]], attributes: Attrs) -> AnyArray | tuple[AnyArray, ...]:
    """`numpy.unique`."""
    x, *given = inputs
    ordered, index, inverse, counts = (*map(bool, given[:4]), *(True, False, False, False)[len(given) :])
    axis = int(given[4]) if len(given) > 4 else None
    if ordered and not (index or inverse or counts):  # much faster
        return np.unique(wide(x), axis=axis).astype(x.dtype, copy=False)
    values, *rest = distinct(x, ordered, axis)
    chosen = [r.astype(np.int64) for r, wanted in zip(rest, (index, inverse, counts)) if wanted]
    return (values, *chosen) if chosen else values


UNIQUE: Definition = OpDef(
    "unique",
    inputs=(
        Input("x"),
        Input("sorted", "sort the values, else keep the order of first occurrence", kind="prim", default=True),
        Input("return_index", "also return the index of each first occurrence", kind="prim", default=False),
        Input("return_inverse", "also return the index of each element's unique value", kind="prim", default=False),
        Input("return_counts", "also return the number of occurrences", kind="prim", default=False),
        Input("axis", "compare slices along this axis", kind="prim", optional=True),
    ),
    infer=infer_unique,
    compute=_NO_KERNEL,
    reference=reference_unique,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    relay_name=NotApplicable("Relay's unique pads its results"),
    samples=lambda: (
        Sample((Arr((3, 4), "int32", 0, 4),)),
        Sample((Arr((9,), "int64", 0, 4), False, True, True, True)),
        Sample((Arr((4, 2), "int32", 0, 2), True, False, False, False, 0)),
    ),
    summary="The unique elements of a tensor.",
)


@attrs
class RelayUniqueAttrs(Attrs):
    """The order of the values, and whether they are counted."""

    sorted: bool = attr(True, "sort the values, else keep the order of first occurrence")
    return_counts: bool = attr(False, "also return the number of occurrences")


def infer_padded(call: OpCall[RelayUniqueAttrs]) -> Info:
    """Results of the operand's length, and how many elements of them count."""
    x = call.tensor(0)
    check_ranks(call, 1)
    same = TensorInfo(x.shape, INT32, 1, x.vdevice)
    fields = (x, same, same, TensorInfo((1,), INT32, vdevice=x.vdevice))
    return TupleInfo((*fields, same) if call.attrs.return_counts else fields)


def reference_padded(inputs: Sequence[AnyArray], a: RelayUniqueAttrs) -> tuple[AnyArray, ...]:
    """`numpy.unique`, zeros behind."""
    (x,) = inputs
    values, first, inverse, counts = distinct(x, a.sorted, None)

    def padded(found: AnyArray, dtype: npt.DTypeLike) -> AnyArray:
        result = np.zeros(len(x), dtype)
        result[: len(found)] = found
        return result

    fields: tuple[AnyArray, ...] = (padded(values, x.dtype), padded(first, np.int32), inverse.astype(np.int32))
    fields = (*fields, np.array([len(values)], np.int32))
    return (*fields, padded(counts, np.int32)) if a.return_counts else fields


RELAY_UNIQUE = OpDef(
    "relay_unique",
    RelayUniqueAttrs,
    inputs=(Input("data", "of rank 1"),),
    infer=infer_padded,
    compute=NotApplicable("sorting and counting in one go is left to NumPy"),
    reference=reference_padded,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    relay_name="unique",
    in_relax=False,
    outputs=lambda a: 5 if a.return_counts else 4,
    relay_builder=lambda make, data, is_sorted=True, return_counts=False: make(
        data, sorted=is_sorted, return_counts=return_counts
    ),
    samples=lambda: (
        Sample((Arr((7,), "int32", 0, 4),), RelayUniqueAttrs()),
        Sample((Arr((7,), "int32", 0, 4),), RelayUniqueAttrs(sorted=False, return_counts=True)),
    ),
    summary="The unique elements of a vector, padded to its length, and their number.",
)

DATA_DEPENDENT: tuple[Definition, ...] = (NONZERO, ARGWHERE, UNIQUE, RELAY_UNIQUE)
