"""Sorting along an axis: sort, argsort. Both read the order that `merge_sort` finds.

Source: facts relax-ops-passes-vm §1 (sorting), relay-language §6 level 6.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.index.merge_sort import order, reference_order
from baton._src.ops.samples import Arr, Sample
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class SortAttrs(Attrs):
    """Along which axis, in which direction."""

    axis: int = attr(-1, "the axis")
    descending: bool = attr(False, "sort in descending order", relax_only=True)
    is_ascend: bool = attr(True, "sort in ascending order", relay_only=True)

    def __post_init__(self) -> None:
        set_attr(self, "descending", bool(self.descending))
        set_attr(self, "is_ascend", bool(self.is_ascend))


@attrs
class ArgsortAttrs(SortAttrs):
    """The same, and the dtype of positions."""

    dtype: DataType = attr("int32", "dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def is_descending(a: SortAttrs) -> bool:
    """Whether the order is descending, by either language's attribute."""
    return bool(a.descending) or not a.is_ascend


def infer_sort(call: OpCall[SortAttrs]) -> Info:
    """The operand itself."""
    x = call.tensor(0)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
    return x


def infer_argsort(call: OpCall[ArgsortAttrs]) -> Info:
    """The operand with the dtype of positions."""
    x = infer_sort(call)
    assert isinstance(x, TensorInfo)
    return TensorInfo(x.shape, call.attrs.dtype, x.ndim, x.vdevice, x.shape_var)


def taken(x: k.Tensor, positions: k.Tensor, axis: int, shape: Sequence[Dim], name: str) -> k.Tensor:
    """The elements at `positions`, in a tensor of `shape`."""
    return k.compute(
        shape, lambda *i: x(*(place(positions, i, axis) if a == axis else j for a, j in enumerate(i))), name
    )


def place(positions: k.Tensor, i: k.Indices, axis: int) -> k.Scalar:
    """Position number `i[axis]`; the last one if a symbolic axis is shorter than that at run time."""
    extent = positions.shape[axis]
    if isinstance(extent, tir.IntImm):
        return positions(*i)
    return positions(*(k.minimum(j, extent - k.index(1)) if a == axis else j for a, j in enumerate(i)))


def compute_sort(inputs: Sequence[k.Tensor], a: SortAttrs, out: k.Result) -> k.Tensor:
    """The elements in their order."""
    (x,) = inputs
    axis = from_front(a.axis, x.ndim)
    return taken(x, order(x, axis, is_descending(a)), axis, x.shape, "sort")


def compute_argsort(inputs: Sequence[k.Tensor], a: ArgsortAttrs, out: k.Result) -> k.Tensor:
    """The order."""
    (x,) = inputs
    found = order(x, from_front(a.axis, x.ndim), is_descending(a))
    return k.compute(x.shape, lambda *i: k.cast(out.dtype, found(*i)), "argsort")


def reference_sort(inputs: Sequence[AnyArray], a: SortAttrs) -> AnyArray:
    """The elements in their order."""
    return np.take_along_axis(inputs[0], reference_order(inputs[0], a.axis, is_descending(a)), a.axis)


def gradient_sort(b: CallMaker, args: Exprs, a: SortAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Back to where the elements came from."""
    x = args[0]
    places = b.op("argsort", x, axis=a.axis, descending=is_descending(a), dtype="int64")
    return [b.op("scatter_elements", b.full_like(x, 0), places, grad, axis=a.axis)]


def _rows(record: type[SortAttrs], **more: object) -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 7)),), record(**more)),
        Sample((Arr((9, "m"), "int32", 0, 4),), record(axis=0, **more)),
        Sample((Arr((5,), "float32", values=(1.0, float("nan"), -1.0, 1.0, float("inf"))),), record(**more)),
    )


SORT = OpDef(
    "sort",
    SortAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=infer_sort,
    compute=compute_sort,
    reference=reference_sort,
    gradient=gradient_sort,
    fusion=Fusion.OPAQUE,
    samples=lambda: (*_rows(SortAttrs), *_rows(SortAttrs, descending=True)),
    summary="Sort along an axis, in ascending or descending order.",
)

ARGSORT = OpDef(
    "argsort",
    ArgsortAttrs,
    inputs=(Input("data"),),
    infer=infer_argsort,
    compute=compute_argsort,
    reference=lambda inputs, a: reference_order(inputs[0], a.axis, is_descending(a)).astype(a.dtype.numpy),
    gradient=NotApplicable("positions are not differentiable"),
    fusion=Fusion.OPAQUE,
    samples=lambda: (*_rows(ArgsortAttrs), *_rows(ArgsortAttrs, is_ascend=False, dtype="int64")),
    summary="The indices that would sort along an axis; the sort is stable.",
)

SORTS: tuple[Definition, ...] = (SORT, ARGSORT)
