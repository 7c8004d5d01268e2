"""Prim values: host scalars with a dtype.

A Python int is an int64, a float a float64, a bool a bool. Other dtypes are subclasses of int and float that carry
their dtype, so a packed function may use any prim value as an ordinary number.
"""

from __future__ import annotations

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.dtype import BOOL, INT64, DataType
from baton._src.values.whole_numbers import whole_dtype, whole_numbers

FLOAT64 = DataType("float64")


class PrimInt(int):
    """An integer of a dtype other than int64."""

    dtype: DataType

    def __repr__(self) -> str:
        return f"PrimValue({int(self)}, {str(self.dtype)!r})"

    __str__ = int.__repr__


class PrimFloat(float):
    """A float of a dtype other than float64. What is computed is rounded to it, a literal is what was written."""

    dtype: DataType

    def __repr__(self) -> str:
        return f"PrimValue({float(self)!r}, {str(self.dtype)!r})"

    __str__ = float.__repr__


Prim = int | float


def prim(value: object, dtype: object) -> Prim:
    """The prim value of `dtype`: integers wrap, floats round, and floats become integers as elements of tensors do.

    A number beyond int64, which no conversion makes, is refused (`value-mismatch`).
    """
    kind = DataType(dtype)
    if not isinstance(value, (int, float)):
        raise fail("value-prim", f"{type(value).__name__} is not a host scalar")
    if kind.is_bool:
        return bool(value)
    if kind.is_int and isinstance(value, float):
        through = kind if kind == "uint64" else whole_dtype(kind)
        value = int(whole_numbers(np.asarray(value), through))
    if kind == "int64":
        return _within_int64(int(value))
    if kind == "float64":
        return float(value)
    if kind.is_int:
        number = PrimInt(_wrap(int(value), kind))
        number.dtype = kind
        return number
    if kind.is_float:
        return _labelled(float(kind.numpy.type(value)), kind)
    raise fail("value-prim", f"a prim value cannot have dtype {kind}")


def _within_int64(number: int) -> int:
    if not -(1 << 63) <= number < 1 << 63:
        raise fail("value-mismatch", f"a prim value is an int64; {number} does not fit")
    return number


def literal_prim(value: int | float, dtype: object) -> Prim:
    """The prim value that a literal of `dtype` stands for: as `prim`, but a float keeps the digits that were written.

    A program's 0.1 is a float32, yet a packed function or a float64 tensor that receives it sees 0.1, as in TVM.
    """
    kind = DataType(dtype)
    return _labelled(float(value), kind) if kind.is_float and kind != FLOAT64 else prim(value, kind)


def as_declared(value: object, dtype: object) -> object:
    """A number of the host as the prim value of the dtype a parameter declares: floats round, integers must fit.

    Hosts write all floats as float64 and all integers as int64. A value that has its own dtype, is of another category
    or does not fit is returned unchanged, so that the check of the signature refuses it. That check takes integers for
    int64, so those beyond it are refused here (`value-mismatch`).
    """
    kind = DataType(dtype)
    if type(value) is int and kind == INT64:
        return _within_int64(value)
    if (type(value) is float and kind.is_float) or (type(value) is int and kind.is_int and _wrap(value, kind) == value):
        return prim(value, kind)
    return value


def _labelled(value: float, dtype: DataType) -> PrimFloat:
    real = PrimFloat(value)
    real.dtype = dtype
    return real


def _wrap(value: int, dtype: DataType) -> int:
    span = 1 << dtype.bits
    low = value % span
    return low - span if dtype.kind == "int" and low >= span >> 1 else low


def shifted_left(number: int, amount: int) -> int:
    """`number << amount` as a whole number. Error `value-mismatch`: the amount is none of an int64's bits."""
    return number << _bits(amount)


def shifted_right(number: int, amount: int) -> int:
    """`number >> amount`. Error `value-mismatch`: the amount is none of an int64's bits."""
    return number >> _bits(amount)


def _bits(amount: int) -> int:
    if not 0 <= amount < INT64.bits:
        raise fail("value-mismatch", f"numbers of int64 are shifted by 0..{INT64.bits - 1} bits, not by {amount}")
    return amount


def same_number(one: object, other: object) -> bool:
    """Whether prim values are the same: equal, or both NaN."""
    return one == other or (one != one and other != other)


def prim_dtype(value: object) -> DataType | None:
    """The dtype of a prim value; None if `value` is not one."""
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, (PrimInt, PrimFloat)):
        return value.dtype
    if isinstance(value, int):
        return INT64
    if isinstance(value, float):
        return FLOAT64
    return None
