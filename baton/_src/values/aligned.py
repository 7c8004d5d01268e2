"""Memory aligned to cache lines: loading a vector that crosses two lines takes two accesses.

Large NumPy arrays begin 16 bytes after a page boundary, so every load of 64 bytes would cross two lines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from baton._src.values.tensor import AnyArray

LINE = 64
"""Bytes of a line of the caches, and of the longest vectors."""


def aligned_bytes(count: int) -> AnyArray:
    """A byte array of `count` elements that starts on a line of the caches; contents arbitrary."""
    raw: AnyArray = np.empty(count + LINE, np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + count]


def aligned_empty(shape: Sequence[int], dtype: npt.DTypeLike) -> AnyArray:
    """A C-contiguous array that starts on a line of the caches; contents arbitrary."""
    kind = np.dtype(dtype)
    array: AnyArray = aligned_bytes(math.prod(shape) * kind.itemsize).view(kind).reshape(tuple(shape))
    return array


def aligned(array: AnyArray) -> AnyArray:
    """The array itself, if it starts on a line of the caches and is C-contiguous; otherwise a copy that does."""
    if array.flags.c_contiguous and array.ctypes.data % LINE == 0:
        return array
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy
