"""Integers times a quotient of scales, rounded to whole numbers: the arithmetic of qnn.requantize, in three dtypes.

    float64, float32    round(x * factor)
    int64               round(x * number / 2**right), number an integer of 31 bits: factor = number * 2**-right

The second form needs no real numbers once the factor is known; it keeps 31 bits of it. Rounding: UPWARD (halves up) or
TONEAREST (halves away from zero). Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from baton._src.ops import kernel_words as k
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

ROUNDINGS = ("UPWARD", "TONEAREST")
REAL = "float64"
LARGE = float(1 << 30)
"""Factors from here on have no number and shift: every shift must be to the right."""
BEYOND = 1e30
"""More than any product of quantised numbers and scales that is not clipped; every float dtype has it."""
_LONG = "int64"
_ENOUGH = float(1 << 62)
"""More than any result of 32 bits; an int64 that zero points can be added to."""


def product(value: k.Scalar, factor: k.Scalar) -> k.Scalar:
    """value * factor, rounded before anything is added to it.

    Compilers fuse products with sums, which rounds once: -5 * 0.1 + 0.5 is then less than 0. They do not look across
    a bound, though no product reaches it.
    """
    return k.minimum(value * factor, k.const(BEYOND, value.dtype))


def rounded(value: k.Scalar, rounding: str) -> k.Scalar:
    """A real number as a whole one, in its own dtype."""
    half = k.const(0.5, value.dtype)
    if rounding == "UPWARD":
        return k.floor(value + half)
    return k.select(value < k.const(0.0, value.dtype), k.ceil(value - half), k.floor(value + half))


def np_rounded(value: AnyArray, rounding: str) -> AnyArray:
    """`rounded` of an array."""
    half = value.dtype.type(0.5)
    up = np.floor(value + half)
    found: AnyArray = up if rounding == "UPWARD" else np.where(value < 0, np.ceil(value - half), up)
    return found


def clipped(value: k.Scalar, dtype: DataType) -> k.Scalar:
    """A float64 as the nearest number of an integer dtype."""
    low, high = (k.const(float(v), REAL) for v in dtype.int_range)
    return k.cast(dtype, k.cast(_LONG, k.maximum(low, k.minimum(high, value))))


def np_clipped(value: AnyArray, dtype: DataType) -> AnyArray:
    """`clipped` of an array."""
    return np.clip(value, *dtype.int_range).astype(np.int64).astype(dtype.numpy)


def fixed_point(factor: npt.ArrayLike) -> tuple[AnyArray, AnyArray]:
    """Numbers and shifts to the right of an array of factors below `LARGE`."""
    fraction, exponent = np.frexp(np.asarray(factor, REAL))
    number = np.copysign(np.floor(np.abs(fraction) * 2.0**31 + 0.5), fraction)
    return number.astype(_LONG), np.clip(31 - exponent, 1, 64).astype(_LONG)


def np_fixed_product(x: AnyArray, factor: npt.ArrayLike, rounding: str) -> AnyArray:
    """round(x * factor) of an array of int64 by numbers and shifts."""
    factor = np.asarray(factor, REAL)
    large = np.abs(factor) >= LARGE
    number, right = fixed_point(np.where(large, 0.0, factor))
    product = x * number
    up = ((np.abs(product) if rounding == "TONEAREST" else product) >> (right - 1)) + 1 >> 1
    whole = np.where(product < 0, -up, up) if rounding == "TONEAREST" else up
    found: AnyArray = np.where(large, np.clip(x * factor, -_ENOUGH, _ENOUGH).astype(_LONG), whole)
    return found


def fixed_product(x: k.Scalar, factor: k.Scalar, rounding: str) -> k.Scalar:
    """`np_fixed_product` in a kernel: the number and the shift are taken from the bits of the float64."""
    size = k.maximum(factor, k.const(0.0, REAL) - factor)
    bits = k.tir.Call(DataType(_LONG), k.intrinsic("reinterpret"), (size,))
    exponent = k.call("shift_right", bits, _whole(52))
    fraction = bits - k.call("shift_left", exponent - _whole(1), _whole(52))
    number = k.call("shift_right", fraction + _whole(1 << 21), _whole(22))
    right = k.maximum(_whole(1), k.minimum(_whole(64), _whole(1053) - exponent))
    product = x * k.select(factor < k.const(0.0, REAL), _whole(0) - number, number)
    if rounding == "TONEAREST":
        up = _halves_up(k.maximum(product, _whole(0) - product), right)
        whole = k.select(product < _whole(0), _whole(0) - up, up)
    else:
        whole = _halves_up(product, right)
    real = k.maximum(k.const(-_ENOUGH, REAL), k.minimum(k.const(_ENOUGH, REAL), k.cast(REAL, x) * factor))
    return k.select(size < k.const(LARGE, REAL), whole, k.cast(_LONG, real))


def _halves_up(product: k.Scalar, right: k.Scalar) -> k.Scalar:
    """floor(product / 2**right + 1/2); what is added cannot overflow."""
    return k.call("shift_right", k.call("shift_right", product, right - _whole(1)) + _whole(1), _whole(1))


def _whole(value: int) -> k.Scalar:
    return k.const(value, _LONG)
