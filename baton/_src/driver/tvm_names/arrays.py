"""Tensors from elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.values.device import CPU, Device
from baton._src.values.tensor import NDArray, array


class _Capsule:
    """A DLPack capsule of memory of the CPU, as an object that gives it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return CPU.device_type, CPU.device_id


def from_dlpack(source: Any) -> NDArray:
    """A tensor over the memory of `source` (anything with `__dlpack__`), without a copy."""
    return NDArray(np.from_dlpack(source if hasattr(source, "__dlpack__") else _Capsule(source)))


def from_numpy(source: Any, device: Device = CPU) -> NDArray:
    """A tensor with a copy of a NumPy array."""
    return array(source, device)
