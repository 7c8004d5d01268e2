"""Storage, tensors, copies and views."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from baton._src.runtime.native.output_memory import allocator
from baton._src.runtime.tensor_sizes import extents
from baton._src.runtime.value_errors import describe
from baton._src.support.diagnostics import fail
from baton._src.values.aligned import aligned_bytes
from baton._src.values.dtype import DataType
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import AnyArray, NDArray


class Storage:
    """A block of memory that tensors are carved out of."""

    __slots__ = ("data",)

    def __init__(self, data: AnyArray) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<Storage of {self.data.nbytes} bytes>"


def alloc_storage(size: tuple[int, ...], device: int = 0, dtype: str = "uint8", scope: str = "global") -> Storage:
    """Memory for `size`: one number of bytes, or several extents of elements of `dtype`."""
    unit = 1 if len(size) == 1 else DataType(dtype).itemsize
    return Storage(aligned_bytes(max(1, math.prod(size) * unit)))


def alloc_tensor(storage: Storage, offset: int, shape: tuple[int, ...], dtype: str) -> NDArray:
    """A tensor inside `storage`, `offset` bytes from its start."""
    kind, dims = DataType(dtype), extents(shape)
    stop = offset + math.prod(dims) * kind.itemsize
    if offset < 0 or stop > storage.data.nbytes:
        raise fail("vm-memory", f"a tensor of shape {dims} and dtype {kind} at byte {offset} exceeds {storage}")
    return NDArray(storage.data[offset:stop].view(kind.numpy).reshape(dims))


def new_tensor(shape: tuple[int, ...], dtype: str) -> NDArray:
    """A fresh tensor with arbitrary contents."""
    return NDArray(allocator(extents(shape), _numpy_dtype(dtype))())


@lru_cache(maxsize=256)
def _numpy_dtype(dtype: str) -> np.dtype[Any]:
    """Kept, since finding it takes longer than allocating a tensor."""
    return DataType(dtype).numpy


def copy(value: Any) -> Any:
    """A tensor with its own memory (each evaluation of a constant gives one); tuples of them; other values as they
    are."""
    if isinstance(value, NDArray):
        made = allocator(value.data.shape, value.data.dtype)()
        made[...] = value.data
        return NDArray(made, value.device)
    if isinstance(value, tuple) and not isinstance(value, ShapeTuple):
        return tuple([copy(v) for v in value])
    return value


def reshape(tensor: NDArray, shape: tuple[int, ...]) -> NDArray:
    """The same memory under another shape."""
    if math.prod(shape) != tensor.data.size or min(shape, default=0) < 0:
        raise fail("value-mismatch", f"cannot view {describe(tensor)} as shape {tuple(shape)}")
    return NDArray(tensor.data.reshape(shape), tensor.device)


def view(tensor: NDArray, shape: Any = None, dtype: Any = None, byte_offset: Any = None) -> NDArray:
    """The same memory seen with another shape, dtype or start. Null or unit keeps the tensor's own."""
    kind = DataType(dtype) if dtype not in (None, ()) else tensor.dtype
    start = int(byte_offset or 0)
    raw = tensor.data.reshape(-1).view("uint8")
    dims = tensor.shape if shape is None or type(shape) is tuple else extents(shape)
    stop = start + math.prod(dims) * kind.itemsize
    if start < 0 or stop > raw.nbytes:
        raise fail(
            "value-mismatch",
            f"a view of shape {dims} and dtype {kind} at byte {start} needs {stop} bytes of {describe(tensor)}",
        )
    return NDArray(raw[start:stop].view(kind.numpy).reshape(dims), tensor.device)


def ensure_zero_offset(tensor: NDArray) -> NDArray:
    """The tensor itself: tensors here always start at their own address."""
    return tensor


def to_device(tensor: NDArray, *target: Any) -> NDArray:
    """A copy of the tensor (there is one kind of device)."""
    return NDArray(tensor.data.copy(), tensor.device)


def nothing(*values: Any) -> tuple[()]:
    """Does nothing: marks that values are dead; memory is released with its last reference."""
    return ()


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.alloc_storage": alloc_storage,
    "vm.builtin.alloc_tensor": alloc_tensor,
    "vm.builtin.new_tensor": new_tensor,
    "vm.builtin.copy": copy,
    "vm.builtin.reshape": reshape,
    "vm.builtin.view": view,
    "vm.builtin.ensure_zero_offset": ensure_zero_offset,
    "vm.builtin.to_device": to_device,
    "vm.builtin.kill_object": nothing,
    "runtime.TVMTensorCreateView": view,
}
