"""A pool of memory for large results, reused when no array refers to it any more.

The system maps pages of new memory when they are first written: 0.1 to 0.2 ms per megabyte, as much as a convolution
takes to compute their contents. Results of 256 KB and more reuse memory that an earlier result released. NumPy's views
keep the object alive over which an array was created, a ctypes object here, so memory is released only when the array
and all of its views are gone.
"""

from __future__ import annotations

import ctypes
import math
from collections import deque
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from baton._src.runtime.native.addresses import data_address
from baton._src.values.aligned import aligned_bytes
from baton._src.values.tensor import AnyArray

SMALLEST, LARGEST = 1 << 18, 1 << 26
"""Bytes of results that are recycled: below, the C library does so; above, too much would be retained."""
_SIZES, _EACH = 4, 2
"""Most sizes that are retained, and most pieces of each."""

_given_back: dict[int, deque[AnyArray]] = {}


class _Owner:
    """Returns the memory to the pool when the last array that uses it is deleted."""

    __slots__ = ("memory",)

    def __init__(self, memory: AnyArray) -> None:
        self.memory = memory

    def __del__(self) -> None:
        size = self.memory.size
        pieces = _given_back.get(size)
        if pieces is None:
            if len(_given_back) >= _SIZES:
                _given_back.clear()
            pieces = _given_back.setdefault(size, deque(maxlen=_EACH))
        pieces.append(self.memory)


def allocator(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], AnyArray]:
    """A function that returns a new array with arbitrary contents."""
    size = math.prod(shape) * dtype.itemsize
    if SMALLEST <= size <= LARGEST:
        return partial(_recycled, shape, dtype, size)
    return partial(np.empty, shape, dtype)


def _recycled(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> AnyArray:
    try:
        memory = _given_back[size].pop()
    except (KeyError, IndexError):
        memory = aligned_bytes(size)
    block = _block_type(size).from_address(data_address(memory))
    block.owner = _Owner(memory)
    return np.ndarray(shape, dtype, block)


@cache
def _block_type(size: int) -> Any:
    """A ctypes array of so many bytes that may carry its owner."""
    return type("Block", (ctypes.c_char * size,), {})


__all__ = ["allocator"]
