"""Arrays as DLPack's tensors and back, sharing memory: also those of element types that NumPy's own reader and
writer do not know (bfloat16, 8-bit floats).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.values.dtype import AnyArray, DataType

_CPU = 1
_EXTENDED = {
    (4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (11, 8): "float8_e4m3fnuz", (12, 8): "float8_e5m2",
    (13, 8): "float8_e5m2fnuz", (14, 8): "float8_e8m0fnu",
}  # fmt: skip
"""Element types by DLPack's number of their kind, and their bits."""
CODES = {DataType(name).numpy: code for (code, _), name in _EXTENDED.items()}


class DLTensor(ctypes.Structure):
    """`DLTensor`, with which a capsule called `dltensor` begins."""

    _fields_ = (
        ("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


def array_over(tensor: Any) -> AnyArray:
    """An array over the memory of `tensor`, which has `__dlpack__`, without a copy.

    Raises what NumPy raises if it is no tensor of the CPU, or of elements that nobody knows.
    """
    # A view that PyTorch negates lazily (`x.conj().imag`): DLPack would pass on its memory, of the other sign.
    negated: Callable[[], Any] | None = getattr(tensor, "resolve_neg", None)
    source = tensor if negated is None else negated()
    try:
        return np.from_dlpack(source)
    except (BufferError, RuntimeError, TypeError):
        found = _extended(source)
        if found is None:
            raise
        return found


def capsule_of(array: AnyArray, **options: Any) -> Any:
    """The memory of an array as a DLPack capsule, without a copy; `options` are those of `__dlpack__`.

    Raises what NumPy raises if DLPack has no such elements, or the array cannot be written to.
    """
    code = CODES.get(array.dtype)
    if code is None:
        return array.__dlpack__(**options)
    options.pop("max_version", None)  # what `DLTensor` describes is what consumers of any version read
    capsule = array.view(f"u{array.dtype.itemsize}").__dlpack__(**options)
    DLTensor.from_address(_address(capsule)).code = code
    return capsule


def _extended(tensor: Any) -> AnyArray | None:
    """One of an element type of ml_dtypes; None if it has another one."""
    if int(tensor.__dlpack_device__()[0]) != _CPU:
        return None
    capsule = tensor.__dlpack__()
    described = DLTensor.from_address(_address(capsule))
    name = _EXTENDED.get((described.code, described.bits))
    if name is None or described.lanes != 1:
        return None
    dtype, rank = DataType(name).numpy, described.ndim
    shape = described.shape[:rank] if rank else []
    steps = described.strides[:rank] if rank and described.strides else _dense(shape)
    if not math.prod(shape):
        return np.empty(shape, dtype)
    if min(steps, default=0) < 0:
        return None
    last = sum((size - 1) * step for size, step in zip(shape, steps, strict=True))
    held: Any = (ctypes.c_char * ((last + 1) * dtype.itemsize)).from_address(described.data + described.byte_offset)
    held.owner = capsule  # the memory lives as long as what looks at it
    return np.ndarray(shape, dtype, held, strides=[step * dtype.itemsize for step in steps])


def _address(capsule: object) -> int:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return int(pointer(capsule, b"dltensor"))


def _dense(shape: list[int]) -> list[int]:
    return [math.prod(shape[place + 1 :]) for place in range(len(shape))]
