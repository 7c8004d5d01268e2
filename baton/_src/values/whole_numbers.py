"""Floats as integers: truncated toward zero, through 32 or 64 bits, the nearest number there if they do not fit.

    300.7 -> int8          300, of which int8 keeps the low bits: 44
    1e10, -inf -> int32    2147483647, -2147483648
    NaN                    0

Compiled code does this on every processor; NumPy leaves to the processor what does not fit. So references and
interpreters convert here.
"""

from __future__ import annotations

import numpy as np

from baton._src.values.dtype import INT32, INT64, DataType
from baton._src.values.tensor import AnyArray


def whole_dtype(target: DataType) -> DataType:
    """The signed integers through which floats become an integer dtype."""
    return INT64 if target.bits == 64 or (target.kind == "uint" and target.bits == 32) else INT32


def whole_numbers(x: AnyArray, dtype: DataType) -> AnyArray:
    """An array of floats as one of an integer dtype."""
    through = whole_dtype(dtype)
    limit = 2.0 ** (through.bits - 1)
    if not x.size or (float(x.min()) > -limit and float(x.max()) < limit):  # not so where there is a NaN
        return x.astype(through.numpy).astype(dtype.numpy)
    real = np.where(np.isnan(x), 0, x.astype(np.float64))
    low, high = through.int_range
    fits = (real > -limit) & (real < limit)
    whole = np.where(fits, np.where(fits, real, 0).astype(through.numpy), np.where(real < 0, low, high))
    found: AnyArray = whole.astype(through.numpy).astype(dtype.numpy)
    if dtype.kind == "uint" and dtype.bits == 64:
        large = (real >= limit) & (real < 2 * limit)
        found = np.where(large, np.where(large, real, 0).astype(np.uint64), found)
        found[real >= 2 * limit] = dtype.int_range[1]
    return found
