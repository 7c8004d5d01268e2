"""NumPy references of TIR intrinsics for which NumPy has no function: on scalars or arrays (lanes) of the operands'
dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def through_float64(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A scalar function of float64, applied to each element and rounded to the operand's dtype."""

    def apply(x: Any) -> Any:
        array = np.asarray(x)
        found = np.array([function(float(v)) for v in array.reshape(-1)], "float64").reshape(array.shape)
        return found.astype(array.dtype)[()]

    return apply


def round_half_away(x: Any) -> Any:
    """The nearest whole number, halves away from zero. (Half added to what is just below one half is one.)"""
    array = np.asarray(x)
    with np.errstate(invalid="ignore"):
        whole = np.trunc(array)
        away = (np.abs(array - whole) >= 0.5).astype(array.dtype)
        return np.asarray(whole + np.copysign(away, array)).astype(array.dtype)[()]


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    one = np.asarray(x).dtype.type(1)
    return one / (one + np.exp(-x))


def exp_flushed(x: Any) -> Any:
    """exp(x) of what is not above 0, and 0 where that is subnormal: arithmetic on such numbers is slow."""
    dtype = np.asarray(x).dtype
    wide = np.float64 if dtype == np.float64 else np.float32  # narrow floats compute in float32
    power = np.exp(np.asarray(x, wide))
    return np.where(power < np.finfo(wide).tiny, wide(0), power).astype(dtype)[()]


def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return np.asarray(x).dtype.type(1) / np.sqrt(x)


def count_leading_zeros(x: Any) -> Any:
    """The number of zero bits above the highest one bit; all bits for 0."""
    array = np.asarray(x)
    bits = array.dtype.itemsize * 8
    counts = [bits - (int(v) & ((1 << bits) - 1)).bit_length() for v in array.reshape(-1)]
    return np.array(counts, "int32").reshape(array.shape)[()]


def popcount(x: Any) -> Any:
    """How many bits are set."""
    array = np.asarray(x)
    return np.bitwise_count(array.view(f"uint{array.dtype.itemsize * 8}")).astype(array.dtype)[()]


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Any:
    """Fixed point: x * y / 2**(q + s), halves rounded up (y has q fractional bits)."""
    shift = np.int64(q) + np.int64(s)
    product = np.int64(x) * np.int64(y)
    half = np.left_shift(np.int64(1), shift - 1)
    return np.right_shift(product + half, shift).astype("int32")


def dot_bytes(total: Any, a: Any, b: Any) -> Any:
    """total + a0 * b0 + .. + a3 * b3: unsigned bytes of the words `a`, signed ones of the words `b`; wraps around."""
    found = np.asarray(total).astype(np.int64)
    for place in (24, 16, 8, 0):
        unsigned = np.right_shift(np.asarray(a, np.int32), place) & 255
        signed = np.right_shift(np.left_shift(np.asarray(b, np.int32), 24 - place), 24)
        found = found + unsigned.astype(np.int64) * signed
    return found.astype(np.int32)[()]


def dot_bfloat16(total: Any, a: Any, b: Any) -> Any:
    """total + a0 * b0 + a1 * b1 in float32: the words `a` and `b` are pairs of bfloat16."""
    found = np.asarray(total, np.float32)
    for shift, mask in ((16, -1), (0, -65536)):
        halves = (np.left_shift(np.asarray(v, np.int32), shift) & np.int32(mask) for v in (a, b))
        x, y = (np.ascontiguousarray(h, np.int32).view(np.float32).reshape(found.shape) for h in halves)
        found = found + x * y
    return np.asarray(found, np.float32)[()]


def large_uint(low: Any, high: Any) -> Any:
    """An unsigned integer of 64 bits by its halves."""
    return np.uint64((int(high) << 32) | (int(low) & 0xFFFFFFFF))
