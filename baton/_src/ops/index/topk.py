"""The first elements of each row in sorted order, and where they are: topk.

Source: facts relax-ops-passes-vm §1 (sorting), relay-language §6 level 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, is_any
from baton._src.ops.index.best_first import best_first
from baton._src.ops.index.merge_sort import order, reference_order
from baton._src.ops.index.sorting import place, taken
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.targets import is_computed
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class TopKAttrs(Attrs):
    """How many, of what."""

    k: int = attr(1, "the number of elements; less than 1: all")
    axis: int = attr(-1, "the axis")
    ret_type: str = attr("both", 'the results: "both", "values" or "indices"')
    largest: bool = attr(True, "select the largest elements", relax_only=True)
    is_ascend: bool = attr(False, "select the smallest elements", relay_only=True)
    dtype: DataType = attr("int32", "dtype of indices")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


class Selecting(Protocol):
    """What attributes of operators say that select the first elements in an order."""

    @property
    def ret_type(self) -> str: ...

    @property
    def largest(self) -> bool: ...

    @property
    def is_ascend(self) -> bool: ...

    @property
    def dtype(self) -> DataType: ...


def results(a: Selecting) -> int | None:
    """How many results there are, if they are a tuple."""
    return 2 if a.ret_type == "both" else None


def is_largest(a: Selecting) -> bool:
    """Whether the largest elements come first, by either language's attribute."""
    return bool(a.largest) and not a.is_ascend


def first_extent(call: OpCall[Attrs], count: Dim, dim: Dim) -> Dim:
    """The extent of the first `count` of `dim` elements; all where `count` is known to be less than 1.

    Where one is symbolic the prover is asked whether there are so many; a run checks what it cannot decide.
    """
    if isinstance(count, int) and count < 1:
        return dim
    if isinstance(count, int) and isinstance(dim, int):
        return min(count, dim)
    math = DimMath(call.prover)
    if not is_any(dim) and math.equal(math.maximum(dim, count), dim) is False:
        call.fail(f"{count} elements are requested of {dim}")
    return count


def infer_topk(call: OpCall[TopKAttrs]) -> Info:
    """k elements along the axis, at most its extent."""
    x, a = call.tensor(0), call.attrs
    if a.ret_type not in ("both", "values", "indices"):
        call.fail(f'ret_type must be "both", "values" or "indices", got {a.ret_type!r}', code="op-attribute")
    axis = normal_axis(call, a.axis, x.ndim) if x.ndim >= 0 else 0
    shape = None
    if x.shape is not None:
        shape = (*x.shape[:axis], first_extent(call, a.k, x.shape[axis]), *x.shape[axis + 1 :])
    values = TensorInfo(shape, x.dtype, x.ndim, x.vdevice)
    indices = TensorInfo(shape, a.dtype, x.ndim, x.vdevice)
    if a.ret_type == "both":
        return TupleInfo((values, indices))
    return values if a.ret_type == "values" else indices


def compute_topk(
    inputs: Sequence[k.Tensor], a: TopKAttrs, out: k.Result | k.Results
) -> k.Tensor | tuple[k.Tensor, ...]:
    """The first k of the sorted order."""
    x = inputs[0]
    axis, extent = from_front(a.axis, x.ndim), x.shape[from_front(a.axis, x.ndim)]
    if a.k < 1 or (isinstance(extent, k.tir.IntImm) and a.k >= extent.value):
        return results_at(order(x, axis, is_largest(a)), x, axis, a)
    return results_at(best_first(x, axis, a.k, is_largest(a)), x, axis, a)


def results_at(found: k.Tensor, x: k.Tensor, axis: int, a: Selecting) -> k.Tensor | tuple[k.Tensor, ...]:
    """What is asked for of the positions that were found: values, indices, or both."""
    values = taken(x, found, axis, found.shape, "topk_values")
    indices = k.compute(found.shape, lambda *i: k.cast(a.dtype, place(found, i, axis)), "topk_indices")
    return (values, indices) if a.ret_type == "both" else values if a.ret_type == "values" else indices


def reference_topk(inputs: Sequence[AnyArray], a: TopKAttrs) -> AnyArray | tuple[AnyArray, AnyArray]:
    """The first k of the sorted order."""
    x = inputs[0]
    found = reference_order(x, a.axis, is_largest(a))
    if a.k >= 1:
        found = np.take(found, np.arange(min(a.k, x.shape[a.axis])), axis=a.axis)
    values, indices = np.take_along_axis(x, found, a.axis), found.astype(a.dtype.numpy)
    return (values, indices) if a.ret_type == "both" else values if a.ret_type == "values" else indices


def gradient_topk(b: CallMaker, args: Exprs, a: TopKAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Back to where the values came from."""
    if a.ret_type == "indices":
        return [b.full_like(args[0], 0)]
    options = {"k": a.k, "axis": a.axis, "largest": a.largest, "is_ascend": a.is_ascend}
    places = b.op("topk", args[0], ret_type="indices", dtype="int64", **options)
    towards = b.item(grad, 0) if a.ret_type == "both" else grad
    return [b.op("scatter_elements", b.full_like(args[0], 0), places, towards, axis=a.axis)]


def relay_builder(
    make: OpBuilder,
    data: Given,
    k: Given = 1,
    axis: int = -1,
    ret_type: str = "both",
    is_ascend: bool = False,
    dtype: object = "int32",
) -> Made:
    """A number of elements that is computed makes it `dyn.topk`."""
    options = {"axis": axis, "ret_type": ret_type, "is_ascend": is_ascend, "dtype": dtype}
    return make.op("dyn.topk", data, k, **options) if is_computed(k) else make(data, k=k, **options)


TOPK = OpDef(
    "topk",
    TopKAttrs,
    inputs=(Input("data"),),
    infer=infer_topk,
    compute=compute_topk,
    reference=reference_topk,
    gradient=gradient_topk,
    fusion=Fusion.OPAQUE,
    outputs=results,
    relay_builder=relay_builder,
    samples=lambda: (
        Sample((Arr(("n", 7)),), TopKAttrs(k=3)),
        Sample((Arr((6, "m"), "int32", 0, 3),), TopKAttrs(k=2, axis=0, largest=False, dtype="int64")),
        Sample((Arr((4, 3)),), TopKAttrs(k=9, ret_type="values")),
        Sample((Arr((4, "m")),), TopKAttrs(k=0, ret_type="indices", is_ascend=True)),
    ),
    summary="The k largest or smallest elements along an axis, in order, and their indices.",
)
