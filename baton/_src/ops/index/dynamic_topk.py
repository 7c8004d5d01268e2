"""Relay's dyn.topk: the number of elements is a tensor.

A known constant gives a known extent; otherwise it runs by its meaning over NumPy once the value is there.
DynamicToStatic replaces it where the value is a constant. Source: facts relay-language §6 (dyn).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo, TupleInfo
from baton._src.ops.axes import normal_axis
from baton._src.ops.index.topk import TopKAttrs, first_extent, reference_topk
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import DataType


@attrs
class DynTopKAttrs(Attrs):
    """As topk's, without k."""

    axis: int = attr(-1, "the axis")
    ret_type: str = attr("both", 'the results: "both", "values" or "indices"')
    is_ascend: bool = attr(False, "select the smallest elements")
    dtype: Any = attr("int32", "dtype of indices")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def _count(value: Any) -> int:
    """The only element of an operand."""
    return int(np.asarray(value).reshape(-1)[0])


def infer(call: OpCall[DynTopKAttrs]) -> Info:
    """As topk, with an unknown extent where k is."""
    x, a = call.tensor(0), call.attrs
    count = call.values[1] if len(call.values) > 1 else None
    axis = normal_axis(call, a.axis, x.ndim) if x.ndim >= 0 else 0
    shape = None
    if x.shape is not None:
        dim = x.shape[axis]
        if count is None:
            extent: Any = AnyDim()
        else:
            extent = first_extent(call, _count(count), dim)
        shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
    values, indices = TensorInfo(shape, x.dtype, x.ndim, x.vdevice), TensorInfo(shape, a.dtype, x.ndim, x.vdevice)
    return TupleInfo((values, indices)) if a.ret_type == "both" else values if a.ret_type == "values" else indices


def reference(inputs: Any, a: DynTopKAttrs) -> Any:
    """topk."""
    return reference_topk(
        inputs[:1],
        TopKAttrs(k=_count(inputs[1]), axis=a.axis, ret_type=a.ret_type, is_ascend=a.is_ascend, dtype=a.dtype),
    )


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
    outputs=lambda a: 2 if a.ret_type == "both" else None,
    samples=lambda: (),
    summary="topk with k computed at run time.",
)
