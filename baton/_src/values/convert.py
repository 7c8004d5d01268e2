"""From host objects to run-time values and back.

| host | value |
|---|---|
| NumPy array or scalar, anything with `__dlpack__` | `NDArray`, sharing memory where it is contiguous |
| bool, int, float | prim value |
| tuple, list | tuple |
| str, None, dtype | the same |
| anything else | passed through as an opaque object |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values import ffi
from baton._src.values.dlpack import array_over
from baton._src.values.dtype import EXTENDED, AnyDtype, DataType
from baton._src.values.filled_tensor import plain
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import AnyArray, NDArray


def from_host(value: Any) -> Any:
    """The run-time value for what a host function returned or a caller gave. Tuples are converted recursively."""
    kind = type(value)
    if kind is NDArray or kind in _UNCHANGED:
        return value
    if kind is np.ndarray:
        return NDArray(contiguous(value))
    if kind is tuple or kind is list:
        return tuple([from_host(v) for v in value])
    return _from_unusual(value)


def snapshot(value: object) -> Any:
    """As `from_host`, but arrays of the host's are copied: what is written into them later changes nothing here."""
    if type(value) is tuple or type(value) is list:
        return tuple([snapshot(v) for v in value])
    found = from_host(value)
    is_foreign = isinstance(found, NDArray) and not isinstance(value, NDArray)
    return NDArray(found.data.copy()) if is_foreign else found


_UNCHANGED: frozenset[type] = frozenset({int, float, bool, str, type(None), ShapeTuple})


def contiguous(array: AnyArray) -> AnyArray:
    """The array itself if it is C-contiguous, aligned and in native byte order; otherwise a copy that is."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if (kind not in "biuf" or size > 8) and not is_extended(array.dtype):
        raise fail(
            "tensor-dtype",
            f"an array of dtype {array.dtype} is not a tensor",
            help="tensors hold integers, floats or booleans of a fixed width",
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.array(array, order="C", copy=True)


def is_extended(dtype: AnyDtype) -> bool:
    """Whether it is one of ml_dtypes' element types (bfloat16, float8, int4, ...)."""
    return dtype in _EXTENDED


_EXTENDED = frozenset(dtype.numpy for dtype in EXTENDED)


def _from_unusual(value: object) -> object:
    if isinstance(value, (np.ndarray, np.generic)):
        return NDArray(contiguous(np.asarray(value)))
    package: Any = ffi.loaded()
    if package is not None:
        if isinstance(value, package.Shape):
            return ShapeTuple(value)
        if isinstance(value, package.dtype):
            return DataType(str(value))
        if isinstance(value, (package.Array, package.List)):
            return tuple([from_host(v) for v in value])
        if isinstance(value, package.Tensor):
            return NDArray(contiguous(array_over(value)))
    if isinstance(value, NDArray):
        return plain(value)
    if hasattr(value, "__dlpack__"):
        return NDArray(contiguous(_by_dlpack(value)))
    return value


def _by_dlpack(value: object) -> AnyArray:
    detach: Callable[[], object] | None = getattr(value, "detach", None)
    source = detach() if detach is not None else value
    try:
        return array_over(source)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise fail("tensor-dlpack", f"cannot read a {type(value).__name__} as a tensor of the CPU: {error}") from error


def to_ffi(value: object) -> object:
    """A run-time value as an argument of a tvm-ffi function; tensors share their memory."""
    if isinstance(value, NDArray):
        return _tensor(value)
    if isinstance(value, ShapeTuple):
        return ffi.tvm_ffi().Shape(value)
    if isinstance(value, tuple):
        return [to_ffi(v) for v in value]
    if isinstance(value, DataType):
        return ffi.tvm_ffi().dtype(str(value))
    return value


def _tensor(value: NDArray) -> object:
    """A tensor over the same memory; DLPack takes no read-only ones (constants), so those are copied."""
    array = value.data if value.data.flags.writeable else value.data.copy()
    if not is_extended(array.dtype):
        return array
    try:
        return ffi.tvm_ffi().from_dlpack(NDArray(array))
    except BufferError as error:
        message = f"a tensor of {value.dtype} cannot be passed to a foreign packed function"
        raise fail("tensor-dlpack", message, help="cast it to float32 first") from error


def to_numpy(value: object) -> AnyArray:
    """The array of a tensor value without a copy; anything NumPy reads otherwise."""
    return value.data if isinstance(value, NDArray) else np.asarray(value)
