"""The dims of a tensor, where its StructInfo has them one by one."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.struct_info import TensorStructInfo


def dims_of(expr: Any) -> tuple[PrimExpr, ...] | None:
    """The dims of a tensor; None where they are not known one by one."""
    info = expr.struct_info_
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return None
    return tuple(info.shape.values)
