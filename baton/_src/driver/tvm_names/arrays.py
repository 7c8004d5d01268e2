"""Tensors from elsewhere."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from baton._src.values.device import CPU, Device
from baton._src.values.dlpack import array_over
from baton._src.values.tensor import AnyArray, NDArray, array


class _Capsule:
    """Wraps a DLPack capsule of CPU memory as an object with `__dlpack__`."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU.device_type, CPU.device_id


def from_dlpack(dltensor: Any) -> NDArray:
    """A tensor over the memory of `dltensor` (a capsule, or anything with `__dlpack__`), without a copy."""
    if hasattr(dltensor, "__dlpack__"):
        return NDArray(array_over(dltensor))
    return NDArray(_writable(array_over(_Capsule(dltensor))))


def _writable(memory: AnyArray) -> AnyArray:
    """The array of a capsule as one to write to: capsules do not say whether they may be, and NumPy takes it for no."""
    if memory.flags.writeable or not memory.size:
        return memory
    last = sum((size - 1) * stride for size, stride in zip(memory.shape, memory.strides))
    held = (ctypes.c_char * (last + memory.itemsize)).from_address(memory.ctypes.data)
    held.owner = memory  # the capsule lives as long as what looks at its memory
    return np.ndarray(memory.shape, memory.dtype, held, strides=memory.strides)


def from_numpy(np_data: Any, device: Device = CPU) -> NDArray:
    """A tensor with a copy of a NumPy array."""
    return array(np_data, device)
