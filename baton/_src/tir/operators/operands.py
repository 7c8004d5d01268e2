"""Operands of scalar operators: Python numbers become literals, and two operands get one dtype.

As in TVM, a Python number is an int32, a float32 or a bool (an int64 where it does not fit): `x + 1` of an int8 is an
int32. The wider integer (of two of one width the unsigned one), the wider float, or the float of a pair wins, and a
scalar is broadcast to a vector's lanes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.expr import IterVar, literal
from baton._src.tir.folding import fold_cast
from baton._src.values.dtype import BOOL, FLOAT32, FLOAT64, INT32, INT64, DataType

_SCALARS = (PrimExpr, IterVar, bool, int, float)


def is_operand(value: object) -> bool:
    """Whether `value` can stand in scalar arithmetic: an expression, an axis, a Python or NumPy number."""
    return isinstance(value, _SCALARS) or (hasattr(value, "item") and getattr(value, "ndim", None) == 0)


def convert(value: Any, dtype: DataType | None = None) -> PrimExpr:
    """`value` as an expression; a number becomes a literal of `dtype` if it fits there, else of its natural dtype."""
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, str) or not is_operand(value):
        return literal(value, dtype)
    number = value.item() if hasattr(value, "item") else value
    if dtype is None or dtype.kind in ("handle", "void"):
        return literal(number, _natural(number))
    element = dtype.element
    if isinstance(number, float):
        fits = element.is_float
    elif isinstance(number, bool):
        fits = True
    else:
        fits = element.is_float or (element.is_int and _fits(number, element))
    return literal(number, dtype if fits else _natural(number).with_lanes(dtype.lanes))


def _natural(number: Any) -> DataType:
    if isinstance(number, bool):
        return BOOL
    if isinstance(number, float):
        return DataType("float32")
    return INT32 if _fits(number, INT32) else INT64 if _fits(number, INT64) else DataType("uint64")


def _fits(number: int, dtype: DataType) -> bool:
    if dtype.kind == "int":
        return -(1 << (dtype.bits - 1)) <= number < (1 << (dtype.bits - 1))
    return 0 <= number < (1 << dtype.bits)


def match_types(a: Any, b: Any) -> tuple[PrimExpr, PrimExpr]:
    """Both operands in one dtype, or `DiagnosticError` (`tir-dtype`)."""
    left, right = _beside(a, b), _beside(b, a)
    if left.dtype == right.dtype:
        return left, right
    left, right = _match_lanes(left, right)
    target = common_dtype(left.dtype, right.dtype)
    if target is None:
        raise fail("tir-dtype", f"no common dtype of {left.dtype} and {right.dtype}", span=left.span or right.span)
    return cast(target, left), cast(target, right)


def _beside(value: Any, other: Any) -> PrimExpr:
    """`value` as an expression; a number has at once the dtype of both, which may hold more of it (0.1 in float64)."""
    if isinstance(value, PrimExpr) or not isinstance(other, PrimExpr):
        return convert(value)
    number = value.item() if hasattr(value, "item") else value
    if not isinstance(number, (bool, int, float)):
        return convert(value)
    common = common_dtype(other.dtype.element, _natural(number))
    return convert(value) if common is None else convert(value, common)


def _match_lanes(a: PrimExpr, b: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
    if a.dtype.lanes == b.dtype.lanes:
        return a, b
    if a.dtype.lanes == 1:
        return tir.Broadcast(a, b.dtype.lanes), b
    if b.dtype.lanes == 1:
        return a, tir.Broadcast(b, a.dtype.lanes)
    raise fail("tir-dtype", f"vectors of different lengths: {a.dtype} and {b.dtype}")


def common_dtype(a: DataType, b: DataType) -> DataType | None:
    """The dtype that operands of `a` and `b` (with equal lanes) are converted to; None if there is none."""
    if a == b:
        return a
    numeric = ("int", "uint", "bool", "float", "bfloat")
    if a.kind not in numeric or b.kind not in numeric:
        return None
    if a.is_float and b.is_float:
        if a.bits == b.bits:
            return DataType("float32").with_lanes(a.lanes)  # float16 and bfloat16: neither holds the other
        return a if a.bits > b.bits else b
    if a.is_float or b.is_float:
        return a if a.is_float else b
    if a.kind == b.kind:
        return a if a.bits >= b.bits else b
    if a.is_bool or b.is_bool:
        return b if a.is_bool else a
    return max(a, b, key=lambda one: (one.bits, one.kind == "uint"))


def cast(dtype: object, value: Any) -> PrimExpr:
    """`value` converted to `dtype`; a scalar becomes a vector of copies if `dtype` has lanes."""
    kind = DataType(dtype)
    x = convert(value)
    if x.dtype == kind:
        return x
    if kind.lanes > 1 and x.dtype.lanes == 1:
        return tir.Broadcast(cast(kind.element, x), kind.lanes)
    if isinstance(x, tir.Broadcast) and x.lanes == kind.lanes:
        return tir.Broadcast(cast(kind.element, x.value), kind.lanes)
    if "handle" in (kind.kind, x.dtype.kind):
        raise fail("tir-dtype", f"cannot convert {x.dtype} to {kind}", help="use tir.reinterpret", span=x.span)
    folded = fold_cast(kind, x)
    return tir.Cast(kind, x) if folded is None else folded


def const(value: Any, dtype: object | None = None) -> PrimExpr:
    """A literal of `dtype` (default: that of a NumPy number; else int32, float32 or bool, wider if it does not fit)."""
    if dtype is None and isinstance(value, np.generic):
        dtype = value.dtype
    elif dtype is None and isinstance(value, float) and not abs(value) <= FLOAT32.largest_float:
        dtype = FLOAT64
    return convert(value) if dtype is None else cast(dtype, literal(value, DataType(dtype)))
