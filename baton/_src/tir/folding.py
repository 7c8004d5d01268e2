"""Constant folding: arithmetic on literals in the dtype's own arithmetic (integers wrap, floats round).

Every function returns None where it does not fold: not literals, or an operation without a value (division by zero).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.support.integer_division import truncated_division, truncated_remainder
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.values.dtype import BOOL, DataType

Number = int | float


def wrap(value: int, dtype: DataType) -> int:
    """`value` modulo 2**bits, in the range of an integer dtype; as a bool, whether it is not 0: sums of bools are
    disjunctions, as in compiled code."""
    if dtype.is_bool:
        return int(value != 0)
    bits = dtype.bits
    value &= (1 << bits) - 1
    if dtype.kind == "int" and value >> (bits - 1):
        value -= 1 << bits
    return value


_ON_INTS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "floor_divide": lambda a, b: a // b,
    "floor_mod": lambda a, b: a % b,
    "truncate_divide": truncated_division,
    "truncate_mod": truncated_remainder,
    "minimum": min,
    "maximum": max,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
}
_ON_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
}
_COMPARE: dict[str, Callable[[Number, Number], bool]] = {
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
}
_DIVISIONS = frozenset({"floor_divide", "floor_mod", "truncate_divide", "truncate_mod"})


def fold_arithmetic(name: str, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """`name(a, b)` of two literals of one dtype."""
    if isinstance(a, IntImm) and isinstance(b, IntImm):
        on_ints = _ON_INTS.get(name)
        if on_ints is None or (name in _DIVISIONS and b.value == 0):
            return None
        return IntImm(a.dtype, wrap(on_ints(a.value, b.value), a.dtype))
    if isinstance(a, FloatImm) and isinstance(b, FloatImm):
        on_floats = _ON_FLOATS.get(name)
        if on_floats is None or (name == "divide" and b.value == 0):
            return None
        with np.errstate(all="ignore"):
            return FloatImm(a.dtype, float(on_floats(_rounded(a), _rounded(b))))
    return None


def fold_comparison(name: str, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """A comparison of two literals of one dtype."""
    if isinstance(a, (IntImm, FloatImm)) and isinstance(b, (IntImm, FloatImm)):
        x, y = (_rounded(one) if isinstance(one, FloatImm) else one.value for one in (a, b))
        return IntImm(BOOL, int(_COMPARE[name](x, y)))
    return None


def _rounded(literal: FloatImm) -> Any:
    """The number a literal stands for: the nearest one that its dtype has, to the one that was written."""
    with np.errstate(over="ignore"):
        return literal.dtype.numpy.type(literal.value)


def fold_shift(name: str, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """A shift of two literals; amounts outside the width are left alone."""
    if not (isinstance(a, IntImm) and isinstance(b, IntImm) and 0 <= b.value < a.dtype.bits):
        return None
    shifted = a.value << b.value if name == "left_shift" else a.value >> b.value
    return IntImm(a.dtype, wrap(shifted, a.dtype))


def fold_cast(dtype: DataType, value: PrimExpr) -> PrimExpr | None:
    """A literal converted to a scalar `dtype`: wrapping, truncating or rounding as the machine does."""
    if not isinstance(value, (IntImm, FloatImm)) or dtype.lanes != 1:
        return None
    number = float(_rounded(value)) if isinstance(value, FloatImm) else value.value
    if dtype.is_float:
        return FloatImm(dtype, number) if float(number) == number or number != number else None
    if not math.isfinite(number):
        return None
    if dtype.is_bool:
        return IntImm(dtype, int(number != 0))
    if dtype.is_int:
        whole = int(number)
        wrapped = wrap(whole, dtype)
        # A float out of range has no defined integer: leave it to the machine.
        return None if isinstance(value, FloatImm) and wrapped != whole else IntImm(dtype, wrapped)
    return None
