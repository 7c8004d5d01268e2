"""topk of a number of elements that a run tells: a tensor in Relay (dyn.topk), a host scalar in Relax (dynamic_topk).

Relay's: a known constant gives a known extent; otherwise it becomes Relax's, by a size that is read when the program
runs (`lower.relay_to_relax.operators_by_sizes`). DynamicToStatic replaces it where the value is a constant. Source:
facts relay-language §6 (dyn).

Relax's is ours: importers need it, too, for numbers that are computed from sizes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import as_dim
from baton._src.ops.index.best_first import best_first
from baton._src.ops.index.topk import TopKAttrs, first_extent, is_largest, reference_topk, results, results_at
from baton._src.ops.samples import Arr, Sample
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class DynTopKAttrs(Attrs):
    """As topk's, without k."""

    axis: int = attr(-1, "the axis")
    ret_type: str = attr("both", 'the results: "both", "values" or "indices"')
    largest: bool = attr(True, "select the largest elements", relax_only=True)
    is_ascend: bool = attr(False, "select the smallest elements", relay_only=True)
    dtype: DataType = attr("int32", "dtype of indices")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def _count(value: npt.ArrayLike) -> int:
    """The only element of an operand."""
    return int(np.asarray(value).reshape(-1)[0])


def infer(call: OpCall[DynTopKAttrs]) -> Info:
    """As topk, with an unknown extent where k is."""
    x, a, count = call.tensor(0), call.attrs, _known_count(call)
    axis = normal_axis(call, a.axis, x.ndim) if x.ndim >= 0 else 0
    shape = None
    if x.shape is not None:
        extent = AnyDim() if count is None else _extent(call, count, x.shape[axis])
        shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
    values, indices = TensorInfo(shape, x.dtype, x.ndim, x.vdevice), TensorInfo(shape, a.dtype, x.ndim, x.vdevice)
    return TupleInfo((values, indices)) if a.ret_type == "both" else values if a.ret_type == "values" else indices


def _known_count(call: OpCall[DynTopKAttrs]) -> Dim | None:
    """How many are wanted, if that is known: a number or a host scalar."""
    if call.op.name != "dynamic_topk":
        value = call.values[1] if len(call.values) > 1 else None
        return None if value is None else _count(value)
    given = call.args[1]
    if not isinstance(given, PrimInfo) or given.value is None:
        return None
    if not given.dtype.is_int or isinstance(given.value, float):
        call.fail(f"k must be an integer, got {given.dtype}", code="op-dtype")
    return as_dim(given.value)


def _extent(call: OpCall[DynTopKAttrs], count: Dim, dim: Dim) -> Dim:
    """Relax's number is what it says; for Relay's, none or less is all."""
    if call.op.name == "dynamic_topk" and isinstance(count, int) and count < 1:
        if count < 0:
            call.fail(f"{count} elements are requested")
        return count
    return first_extent(call, count, dim)


def compute(inputs: Sequence[k.Tensor], a: DynTopKAttrs, out: k.Result | k.Results) -> k.Tensor | tuple[k.Tensor, ...]:
    """The first k of the sorted order: k is what the result has of them."""
    x, axis = inputs[0], from_front(a.axis, inputs[0].ndim)
    return results_at(best_first(x, axis, k.first_of(out).shape[axis], is_largest(a)), x, axis, a)


def reference(inputs: tuple[AnyArray, AnyArray | int], a: DynTopKAttrs) -> AnyArray | tuple[AnyArray, AnyArray]:
    """topk."""
    options = {name: getattr(a, name) for name in ("axis", "ret_type", "dtype", "largest", "is_ascend")}
    return reference_topk(inputs[:1], TopKAttrs(k=_count(inputs[1]), **options))


def reference_of_scalar(inputs: tuple[AnyArray, int], a: DynTopKAttrs) -> AnyArray | tuple[AnyArray, ...]:
    """topk, where none is none."""
    found = reference((inputs[0], inputs[1] or 1), a)
    if inputs[1]:
        return found
    if isinstance(found, tuple):
        return tuple(np.take(v, range(0), axis=a.axis) for v in found)
    return np.take(found, range(0), axis=a.axis)


def gradient(b: CallMaker, args: Exprs, a: DynTopKAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Back to where the values came from."""
    if a.ret_type == "indices":
        return [b.full_like(args[0], 0), None]
    places = b.op("dynamic_topk", *args, axis=a.axis, ret_type="indices", largest=a.largest, dtype="int64")
    towards = b.item(grad, 0) if a.ret_type == "both" else grad
    return [b.op("scatter_elements", b.full_like(args[0], 0), places, towards, axis=a.axis), None]


DYNAMIC_TOPK: OpDef[DynTopKAttrs] = OpDef(
    "dyn.topk",
    DynTopKAttrs,
    inputs=(Input("data"), Input("k")),
    infer=infer,
    compute=NotApplicable("the shape depends on values that are computed"),
    reference=reference,
    gradient=NotApplicable("made static before differentiation"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    shape_values=(1,),
    outputs=results,
    samples=lambda: (),
    summary="topk with k computed at run time.",
)

RELAX_DYNAMIC_TOPK: OpDef[DynTopKAttrs] = OpDef(
    "dynamic_topk",
    DynTopKAttrs,
    inputs=(Input("data"), Input("k", "how many elements, at most as many as there are", kind="prim")),
    infer=infer,
    compute=compute,
    reference=reference_of_scalar,
    gradient=gradient,
    fusion=Fusion.OPAQUE,
    relay_name=NotApplicable("Relay has dyn.topk"),
    outputs=results,
    samples=lambda: (
        Sample((Arr((3, 7)), "n"), DynTopKAttrs()),
        Sample((Arr((6, "m"), "int64", 0, 3), "m"), DynTopKAttrs(axis=1, largest=False, ret_type="values")),
        Sample((Arr((2, 5)), 0), DynTopKAttrs(ret_type="indices")),
    ),
    summary="topk with k computed from sizes.",
)
