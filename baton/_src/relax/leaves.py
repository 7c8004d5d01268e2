"""Leaves of normal form: allowed as arguments, tuple fields and results of sequences (seed 001, Normal Form)."""

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
    """Whether `expr` is a leaf of normal form; a tuple is one if all its fields are."""
    return isinstance(expr, _LEAVES)
