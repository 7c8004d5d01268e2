"""Memory that notices accesses beyond an array: by a protected page for operands, by a pattern around results."""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from baton._src.runtime.vm.builtins import memory

PAGE = mmap.PAGESIZE
posix = pytest.mark.skipif(sys.platform != "linux", reason="protects pages by mprotect")
_ROOM, _PATTERN = 256, 0xA5


@contextmanager
def guarded(array: np.ndarray, at_end: bool) -> Iterator[np.ndarray]:
    """A copy that ends, or begins, at a page nobody may touch: whoever reads or writes beyond ends the process."""
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    size = -(-max(array.nbytes, 1) // PAGE) * PAGE
    pages = mmap.mmap(-1, size + 2 * PAGE)
    held = (ctypes.c_char * len(pages)).from_buffer(pages)
    first = ctypes.addressof(held)
    edges = [ctypes.c_void_p(first), ctypes.c_void_p(first + PAGE + size)]
    start = PAGE + (size - array.nbytes if at_end else 0)
    copy: Any = np.frombuffer(pages, np.uint8, array.nbytes, start).view(array.dtype).reshape(array.shape)
    copy[...] = array
    for edge in edges:
        assert protect(edge, ctypes.c_size_t(PAGE), 0) == 0
    try:
        yield copy
    finally:
        for edge in edges:
            assert protect(edge, ctypes.c_size_t(PAGE), 3) == 0


@contextmanager
def fenced_results() -> Iterator[None]:
    """Results of kernels that are run one by one (`exec_mode="bytecode"`) lie between patterns, which must stay."""
    fences: list[np.ndarray] = []

    def allocator(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], np.ndarray]:
        size = math.prod(shape) * dtype.itemsize

        def fenced() -> np.ndarray:
            room = np.full(size + 2 * _ROOM, _PATTERN, np.uint8)
            fences.extend([room[:_ROOM], room[_ROOM + size :]])
            return room[_ROOM : _ROOM + size].view(dtype).reshape(shape)

        return fenced

    with patch.object(memory, "allocator", allocator):
        yield
    touched = [np.flatnonzero(fence != _PATTERN).tolist() for fence in fences]
    assert not any(touched), f"bytes {touched} in front of and behind results were written"
