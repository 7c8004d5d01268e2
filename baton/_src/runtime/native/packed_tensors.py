"""Memory of a running kernel as tensors, for the time that it calls a packed function.

A function may keep such a tensor: it is then given a copy of its own, as the contents are when the function returns.
What it made of the memory behind the tensor's back (a view of `tensor.data`, a DLPack tensor) cannot be kept.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray


class _Memory:
    """Memory at an address, which NumPy's arrays over it refer to."""

    __slots__ = ("__array_interface__", "__weakref__")

    def __init__(self, address: int, bytes_an_element: int, shape: Sequence[int], strides: Sequence[int]) -> None:
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{bytes_an_element}",
            "data": (address, False),
            "shape": tuple(shape),
            "strides": tuple(strides),
        }


class LentTensors:
    """The tensors of one call."""

    def __init__(self) -> None:
        self._lent: list[tuple[weakref.ref[NDArray], weakref.ref[_Memory]]] = []

    def tensor(
        self, address: int, dtype: DataType, shape: Sequence[int], strides: Sequence[int] | None, offset: int
    ) -> NDArray:
        """The tensor `offset` elements behind an address. Elements of several lanes are an axis behind the others."""
        if dtype.lanes > 1:
            steps = row_major(shape) if strides is None else strides
            shape, strides = (*shape, dtype.lanes), (*(s * dtype.lanes for s in steps), 1)
            offset, dtype = offset * dtype.lanes, dtype.element
        kind = dtype.numpy
        if not prod(shape):
            return NDArray(np.empty(shape, kind))
        apart = row_major(shape) if strides is None else strides
        size = kind.itemsize
        memory = _Memory(address + offset * size, size, shape, [step * size for step in apart])
        array: AnyArray = np.asarray(memory).view(kind)
        made = NDArray(array)
        self._lent.append((weakref.ref(made), weakref.ref(memory)))
        return made

    def take_back(self) -> bool:
        """Part the tensors that somebody keeps from the memory; whether nothing else refers to it."""
        for tensor, _ in self._lent:
            _set_free(tensor())
        return self._is_free() or (gc.collect() >= 0 and self._is_free())

    def _is_free(self) -> bool:
        return all(memory() is None for _, memory in self._lent)


def _set_free(kept: NDArray | None) -> None:
    if kept is not None:
        kept.data = kept.data.copy()


def row_major(shape: Sequence[int]) -> list[int]:
    """The strides of a compact tensor."""
    found = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        found[axis - 1] = found[axis] * shape[axis]
    return found


def number_of(value: Any, dtype: DataType) -> int | float | None:
    """What a function returned as the kernel's number of this dtype; None for what is none."""
    if isinstance(value, NDArray) and value.ndim == 0:
        value = value.data.item()
    if dtype.kind == "handle":
        address = getattr(value, "value", value)  # of ctypes
        return 0 if address is None else address if isinstance(address, int) else None
    if not isinstance(value, (int, float) if dtype.is_float else int):
        return None
    if dtype.is_float:
        return float(value)
    if dtype.is_bool:
        return int(bool(value))
    low, high = dtype.int_range
    return value if low <= value <= high else None
