"""Addresses of NumPy arrays' data, fast.

`array.ctypes.data` builds two objects and costs over a microsecond, as much as a small model takes. An array object
holds the address at a fixed offset (NumPy's C ABI, unchanged since 1.0); that place is read directly, after a check
that this Python and NumPy agree; if they do not, the slow way is used.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import numpy as np

from baton._src.values.tensor import AnyArray

_OFFSET = object.__basicsize__


def _agrees() -> bool:
    if sys.implementation.name != "cpython":
        return False
    samples: list[AnyArray] = [np.empty(3, np.float32), np.empty((2, 0)), np.empty(()), np.empty((4, 4))[1:]]
    return all((ctypes.c_void_p.from_address(id(a) + _OFFSET).value or 0) == a.ctypes.data for a in samples)


def _slow(array: AnyArray) -> int:
    return array.ctypes.data


def _make_fast() -> Callable[[AnyArray], int]:
    from_address = ctypes.c_size_t.from_address
    offset = _OFFSET

    def data_address(array: AnyArray) -> int:
        return from_address(id(array) + offset).value

    return data_address


data_address: Callable[[AnyArray], int] = _make_fast() if _agrees() else _slow
"""`data_address(array)`: the address of the first element of `array` (a plain `numpy.ndarray`)."""
