"""Relay's dyn.nn.pad: a border whose widths are a tensor, a (before, after) pair for every axis.

Widths that are known constants give a known shape. It runs by its meaning over NumPy once the widths are there;
DynamicToStatic makes nn.pad of it where they are constants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops.dims import show_shape
from baton._src.ops.nn.padding import PadAttrs, check_mode, padded, reference
from baton._src.ops.operand_checks import check_integers, check_scalar
from baton._src.tir.expr import AnyDim
from baton._src.values.tensor import AnyArray


@attrs
class DynPadAttrs(Attrs):
    """Mode; the widths are an operand."""

    pad_mode: str = attr("constant", "constant, edge, reflect or circular")


def _static(widths: npt.ArrayLike, a: DynPadAttrs) -> PadAttrs:
    return PadAttrs(pad_width=np.asarray(widths).reshape(-1).tolist(), pad_mode=a.pad_mode)


def infer_dynamic(call: OpCall[DynPadAttrs]) -> Info:
    """As nn.pad; the rank alone where the widths are computed."""
    x, widths, a = call.tensor(0), call.tensor(1), call.attrs
    check_mode(call, a.pad_mode)
    check_scalar(call, 2)
    check_integers(call, 1)
    rows = widths.shape[0] if widths.shape else None
    wrong_rows = isinstance(rows, int) and x.ndim not in (-1, rows)
    if widths.ndim not in (-1, 2) or (widths.shape and widths.shape[1:] != (2,)) or wrong_rows:
        message = (
            f"pad_width must have shape ({max(x.ndim, 0) or 'rank'}, 2), got {show_shape(widths.shape, widths.ndim)}"
        )
        call.fail(message, help="give a pair (before, after) for every axis of the data")
    known = call.values[1] if len(call.values) > 1 else None
    if known is not None:
        return padded(OpCall(call.op, call.args, _static(known, a), call.prover, call.values, call.span))
    dims = (AnyDim(),) * x.ndim if x.shape is not None else None
    return TensorInfo(dims, x.dtype, x.ndim, x.vdevice)


def reference_dynamic(inputs: Sequence[AnyArray], a: DynPadAttrs) -> AnyArray:
    """nn.pad."""
    data, widths, fill = inputs
    return reference((data, np.asarray(fill).reshape(())), _static(widths, a))


DYN_PAD = OpDef(
    "dyn.nn.pad",
    DynPadAttrs,
    inputs=(Input("data"), Input("pad_width", "integers of shape (rank, 2)"), Input("pad_value", "a scalar")),
    infer=infer_dynamic,
    compute=NotApplicable("the shape depends on values that are computed"),
    reference=reference_dynamic,
    gradient=NotApplicable("made static before differentiation"),
    fusion=Fusion.OPAQUE,
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="Pad with widths computed at run time.",
)
