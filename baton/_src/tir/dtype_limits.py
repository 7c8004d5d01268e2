"""The least and greatest values of a dtype, as literals: `tir.min_value("int8")`, `tir.infinity("float32")`."""

from __future__ import annotations

import math

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.tir import operators
from baton._src.values.dtype import DataType


def min_value(dtype: object) -> PrimExpr:
    """The smallest value of a dtype (of floats the most negative finite one)."""
    kind = DataType(dtype)
    if kind.is_float:
        return operators.const(-kind.largest_float, kind)
    return operators.const(-(1 << (kind.bits - 1)) if kind.kind == "int" else 0, kind)


def max_value(dtype: object) -> PrimExpr:
    """The largest value of a dtype (of floats the largest finite one)."""
    kind = DataType(dtype)
    if kind.is_float:
        return operators.const(kind.largest_float, kind)
    return operators.const((1 << (kind.bits - (kind.kind == "int"))) - 1, kind)


def infinity(dtype: object) -> PrimExpr:
    """+inf"""
    return operators.const(math.inf, dtype)


def lowest(dtype: object) -> PrimExpr:
    """A lower bound of all values of the dtype: -inf, or the smallest value if there are no infinities."""
    kind = DataType(dtype)
    return operators.const(-math.inf, kind) if _has_infinity(kind) else min_value(kind)


def highest(dtype: object) -> PrimExpr:
    """An upper bound of all values of the dtype: +inf, or the largest value if there are no infinities."""
    kind = DataType(dtype)
    return operators.const(math.inf, kind) if _has_infinity(kind) else max_value(kind)


def _has_infinity(dtype: DataType) -> bool:
    return dtype.is_float and bool(np.isinf(np.array(np.inf).astype(dtype.numpy)))
