"""How TIR's element types are spelled in C: types, literals, suffixes of helper functions.

Floats of 16 bits and less are unsigned integers of their bits, and become `float` for arithmetic. What is smaller than
a byte takes one, in which integers of 2 to 7 bits are held extended while they are computed with.
"""

from __future__ import annotations

import math

import numpy as np

from baton._src.codegen.c.intervals import Interval, is_narrow
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import INT64, DataType


def c_type(dtype: DataType) -> str:
    """The type of one lane, as a value and in memory."""
    match dtype.kind, dtype.bits:
        case "bool", _:
            return "bool"
        case "int", bits if bits <= 64:
            return f"int{_whole_bits(bits)}_t"
        case "uint", bits if bits <= 64:
            return f"uint{_whole_bits(bits)}_t"
        case "float", 32:
            return "float"
        case "float", 64:
            return "double"
        case (("float" | "bfloat"), (4 | 8 | 16) as bits):
            return f"uint{_whole_bits(bits)}_t"
        case "handle", _:
            return "void*"
        case _:
            pass
    raise fail("codegen-dtype", f"C code for {dtype} is not supported", help="cast to a type that C has")


def held_type(dtype: DataType, interval: Interval | None) -> str:
    """The type of a variable that holds numbers of an interval only."""
    return "int32_t" if dtype == INT64 and is_narrow(interval) else c_type(dtype)


def _whole_bits(bits: int) -> int:
    return next(size for size in (8, 16, 32, 64) if bits <= size)


def unsigned_type(dtype: DataType) -> str:
    """The unsigned integers of the same size, in which sums and products wrap around: at least `unsigned int`."""
    return f"uint{max(32, _whole_bits(dtype.bits))}_t"


def suffix(dtype: DataType) -> str:
    """What ends the names of helper functions for a type: i32, u8, f64, bf16."""
    if dtype.is_bool:
        return "bool"
    letters = {"int": "i", "uint": "u", "float": "f", "bfloat": "bf"}[dtype.kind]
    return f"{letters}{dtype.bits}"


def compute_dtype(dtype: DataType) -> DataType:
    """The type arithmetic is done in: float32 for the narrow floats."""
    return DataType("float32") if dtype.is_narrow else dtype.element


def is_padded(dtype: DataType) -> bool:
    """Whether it is an integer of fewer bits than a byte."""
    return dtype.bits < 8 and dtype.kind in ("int", "uint")


def literal(dtype: DataType, value: float | int) -> str:
    """A constant of one lane."""
    dtype = dtype.element
    if dtype.is_narrow:
        with np.errstate(over="ignore"):
            return hex(int(np.array(value, dtype.numpy).view(f"uint{max(8, dtype.bits)}")))
    if dtype.is_float:
        return _real(float(value), dtype.bits)
    if dtype.is_bool:
        return "true" if value else "false"
    if dtype.kind == "handle":
        return "NULL" if value == 0 else f"((void*)(uintptr_t){int(value)}u)"
    return _whole(int(value), dtype)


def _real(value: float, bits: int) -> str:
    """The shortest text that reads back as the same number."""
    end = "f" if bits == 32 else ""
    if math.isnan(value):
        sign = "-" if math.copysign(1.0, value) < 0 else ""
        return f"({sign}NAN)" if bits == 32 else f"((double){sign}NAN)"
    with np.errstate(over="ignore"):
        rounded = np.float32(value) if bits == 32 else np.float64(value)
    if np.isinf(rounded):
        return f"({'-' if rounded < 0 else ''}INFINITY)"
    text = str(rounded)
    text = text if "." in text or "e" in text else f"{text}.0"
    return f"({text}{end})" if text.startswith("-") else f"{text}{end}"


def _whole(value: int, dtype: DataType) -> str:
    if dtype.kind == "uint":
        value &= (1 << dtype.bits) - 1
        return f"{value}ull" if dtype.bits == 64 else f"{value}u"
    if value == -(1 << 63):
        return "(-9223372036854775807ll - 1)"
    if value == -(1 << 31):
        return "(-2147483647 - 1)"
    text = str(value) if -(1 << 31) < value < 1 << 31 else f"{value}ll"
    return f"({text})" if value < 0 else text
