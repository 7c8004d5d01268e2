"""The dims of tensors in rules for both languages: gradients and builders read them off the expressions they get."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import TensorInfo
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.tir.expr import literal

KnownTensor = TensorStructInfo | TensorInfo
"""What `struct_info` of a tensor is to a rule: for a program of Relay, what its type says."""


def said_dims(info: object) -> tuple[PrimExpr, ...] | None:
    """The dims of a tensor; None if nothing says them, or a variable that holds them."""
    if isinstance(info, TensorInfo):
        return None if info.shape is None else tuple(literal(d) for d in info.shape)
    shape = info.shape if isinstance(info, TensorStructInfo) else None
    return shape.values if isinstance(shape, ShapeExpr) else None
