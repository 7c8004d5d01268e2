"""One input of a model as callers give it: an array, what NumPy or DLPack reads as one, or numbers in lists."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.convert import contiguous, from_host, is_extended
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray

_READ_BY_NUMPY = ("__array__", "__array_interface__", "__array_struct__")
"""What data frames, images and arrays of other libraries have."""


def given_array(given: Any, name: str, dtype: DataType) -> AnyArray:
    """The array, in memory as kernels read it. Numbers and lists of them become `dtype`, arrays keep their own.

    Raises `DiagnosticError`: `value-mismatch` (no array, or numbers that `dtype` would cut off), `tensor-dtype`,
    `tensor-dlpack`.
    """
    try:
        value = contiguous(given) if type(given) is np.ndarray else from_host(given)
    except DiagnosticError as error:
        raise DiagnosticError([d.within(f"while reading input {name}") for d in error.diagnostics]) from error
    if type(value) is np.ndarray:
        return value
    if isinstance(value, NDArray):
        return value.data
    if isinstance(given, (int, float, bool, list, tuple)):
        return _of_numbers(given, name, dtype)
    if isinstance(given, (memoryview, array)) or any(hasattr(given, method) for method in _READ_BY_NUMPY):
        return given_array(_read(given, None, name), name, dtype)
    raise fail("value-mismatch", f"input {name}: a {type(given).__name__} is not an array")


def _of_numbers(given: Any, name: str, dtype: DataType) -> AnyArray:
    if dtype.is_void:
        help = "give an array if it is a tensor; a relax.VirtualMachine takes tuples and shapes too"
        raise fail("value-mismatch", f"input {name} is of no known dtype", help=help)
    found = _read(given, None, name)
    is_number = found.dtype.kind in ("biuf" if dtype.is_float else "biu") or (
        dtype.is_float and is_extended(found.dtype)
    )
    if found.size and not is_number:
        held = "objects" if found.dtype.hasobject else found.dtype
        raise fail("value-mismatch", f"input {name}: {given!r:.60} holds {held}, which do not become {dtype}")
    if found.size and not dtype.is_float and not dtype.is_bool:
        low, high = dtype.int_range
        if not low <= int(found.min()) <= int(found.max()) <= high:
            raise fail("value-mismatch", f"input {name}: {given!r:.60} holds numbers that no {dtype} can be")
    return _read(given, dtype.numpy, name)


def _read(given: Any, dtype: np.dtype[Any] | None, name: str) -> AnyArray:
    try:
        return np.asarray(given, dtype)
    except Exception as error:  # the methods of any library may raise anything
        raise fail("value-mismatch", f"input {name}: {given!r:.60} is not an array: {error}") from error
