"""The leaves of normal form: what may be an argument, a field, or the end of a sequence (seed 001, Normal Form)."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.relax.nodes import (
    Constant,
    DataTypeImm,
    ExternFunc,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    Var,
)

LITERALS = (Constant, ShapeExpr, PrimValue, StringImm, DataTypeImm, ExternFunc)
"""Leaves that are neither names nor have parts."""
_LEAVES = (Var, GlobalVar, Tuple, *LITERALS)


def is_leaf(expr: Any) -> bool:
    """Whether `expr` may stand where normal form asks for a leaf; a tuple is one if its fields are."""
    return isinstance(expr, _LEAVES)
