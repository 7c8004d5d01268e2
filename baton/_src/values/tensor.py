"""`NDArray`: the tensor a program sees. A contiguous NumPy array on a device, shared, never hidden."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.device import CPU, Device
from baton._src.values.dlpack import capsule_of
from baton._src.values.dtype import AnyArray as AnyArray
from baton._src.values.dtype import DataType


class NDArray:
    """A mutable tensor. `numpy()` copies out (as TVM's does); `data` is the array itself, without a copy."""

    __slots__ = ("__weakref__", "data", "device")

    def __init__(self, data: AnyArray, device: Device = CPU) -> None:
        # Kernels read bytes as the machine orders them.
        self.data = data if data.dtype.isnative else data.astype(data.dtype.newbyteorder("="))
        self.device = device

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def dtype(self) -> DataType:
        return DataType(self.data.dtype)

    def numpy(self) -> AnyArray:
        """A copy of the contents."""
        return self.data.copy()

    asnumpy = numpy

    def copyto(self, target: object, mem_scope: str | None = None) -> NDArray:
        """Copy the contents into the tensor `target`, or into a new one on the device `target`."""
        _expect_plain_memory(mem_scope)
        if isinstance(target, Device):
            return _on(target, self.data.copy())
        if not isinstance(target, NDArray):
            message = f"cannot copy a tensor into {target!r}, which is a {type(target).__name__}"
            raise fail("value-mismatch", message, help="give an NDArray or a device", kind=ValueError)
        if target.shape != self.shape:
            raise fail(
                "tensor-shape",
                f"cannot copy a tensor of shape {self.shape} into one of shape {target.shape}",
                kind=ValueError,
            )
        return target.copyfrom(self)

    def copyfrom(self, source_array: object) -> NDArray:
        """Overwrite the contents with `source_array` (anything NumPy can read); the shapes must agree."""
        array = np.asarray(
            source_array.data if isinstance(source_array, NDArray) else source_array, dtype=self.data.dtype
        )
        if array.shape != self.shape:
            raise fail(
                "tensor-shape",
                f"cannot copy an array of shape {array.shape} into a tensor of shape {self.shape}",
                kind=ValueError,
            )
        self.data[...] = array
        return self

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very tensor."""
        return self is other

    def to_dlpack(self) -> object:
        """The memory as a DLPack capsule, without a copy."""
        return capsule_of(self.data)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        array = self.data if dtype is None else self.data.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        return capsule_of(self.data, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device.device_type, self.device.device_id)

    def __getitem__(self, index: Any) -> Any:
        found = self.data[index]
        return NDArray(found, self.device) if isinstance(found, np.ndarray) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        self.data[index] = value.data if isinstance(value, NDArray) else value

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        """Along the first axis, which a scalar does not have (`TypeError`)."""
        return map(self.__getitem__, range(len(self)))

    def _create_view(self, shape: tuple[int, ...], dtype: object = None, relative_byte_offset: int = 0) -> NDArray:
        """The same memory, or that from an offset on, under another shape (and dtype)."""
        kind = np.dtype(self.data.dtype if dtype is None else DataType(dtype).numpy)
        memory = np.ascontiguousarray(self.data).reshape(-1).view(np.uint8)
        end = relative_byte_offset + math.prod(shape) * kind.itemsize
        if not 0 <= relative_byte_offset <= end <= memory.size:
            described = f"shape {tuple(shape)} and dtype {DataType(kind)} from byte {relative_byte_offset} on"
            message = f"a view of {described} is larger than a tensor of shape {self.shape} and dtype {self.dtype}"
            raise fail("tensor-shape", message, kind=ValueError)
        return NDArray(memory[relative_byte_offset:end].view(kind).reshape(tuple(shape)), self.device)

    def __str__(self) -> str:
        return str(self.data)

    def __repr__(self) -> str:
        """TVM's text."""
        return f"<tvm.nd.NDArray shape={self.shape}, {self.device}>\n{self.data!r}"


def _on(device: Device, data: AnyArray) -> NDArray:
    """A tensor of these elements on the device. Error `device-missing`: there is none."""
    if not isinstance(device, Device):
        raise fail("device-unknown", f"{device!r} is not a device", help="e.g. baton.cpu()")
    if not device.exist:
        raise fail("device-missing", f"there is no device {device}", help="tensors are on cpu(0)")
    placed: NDArray = device.place(NDArray(data, device))
    return placed


_NARROWED = {"float64": "float32", "int64": "int32"}


def literal_dtype(found: AnyArray) -> str | None:
    """The default dtype of a literal with these elements: 32 bits for 64 if they fit, else None."""
    wanted = _NARROWED.get(found.dtype.name)
    if wanted == "int32" and found.size and (found.max() > 2**31 - 1 or found.min() < -(2**31)):
        return None
    return wanted


def array(arr: object, device: Device = CPU, mem_scope: str | None = None, dtype: object = None) -> NDArray:
    """A new tensor with a copy of `arr` (anything NumPy reads; NDArray too), C-contiguous."""
    _expect_plain_memory(mem_scope)
    data = arr.data if isinstance(arr, NDArray) else arr
    wanted = None if dtype is None else DataType(dtype).numpy
    try:
        made = np.array(data, dtype=wanted, order="C", copy=True)
    except OverflowError as error:
        kind = "" if dtype is None else f" of {DataType(dtype)}"
        raise fail("value-mismatch", f"no tensor{kind} can hold this: {error}", kind=ValueError) from error
    except (TypeError, ValueError) as error:
        raise _no_tensor(arr) from error
    if made.dtype.kind not in "fiubcV":
        raise _no_tensor(arr)
    DataType(made.dtype)  # complex numbers and NumPy's records are no elements of tensors
    return _on(device, made)


def _expect_plain_memory(scope: str | None) -> None:
    """There is one kind of memory for tensors: `global`, which is what a CPU has."""
    if scope not in (None, "", "global"):
        raise fail("device-missing", f"there is no memory {scope!r} for tensors", help='leave mem_scope out ("global")')


def _no_tensor(source: object) -> DiagnosticError:
    shown = repr(source) if len(repr(source)) < 60 else f"a {type(source).__name__}"
    message = f"no tensor can be made of {shown}"
    return fail("value-mismatch", message, help="give numbers, lists of them or arrays", kind=ValueError)


def empty(
    shape: int | tuple[int, ...], dtype: object = "float32", device: Device = CPU, mem_scope: str | None = None
) -> NDArray:
    """A new tensor with arbitrary contents."""
    _expect_plain_memory(mem_scope)
    try:
        dims = [operator.index(d) for d in ((shape,) if isinstance(shape, SupportsIndex) else shape)]
    except TypeError:
        dims = [-1]
    if min(dims, default=0) < 0:
        raise fail("tensor-shape", f"a shape must consist of non-negative integers, got {shape!r}", kind=ValueError)
    return _on(device, np.empty(dims, DataType(dtype).numpy))
