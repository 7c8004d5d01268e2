"""`SharedLibrary`: a library with TVM's calling convention, made by a C compiler or by any other means.

    library = SharedLibrary(Path("add.so"))
    library["add"](x, y, out)                library(x, y, out) calls what `__tvm_main__` names

A function is `int32_t f(TVMValue* args, int* codes, int count, TVMValue* result, int* code, void* resource)` and checks
its arguments itself. Source: `c_runtime_api.h` of TVM v0.19; DLPack.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from baton._src.runtime.native.c_library import function_address, open_library
from baton._src.runtime.native.c_names import packed_name
from baton._src.runtime.native.faults import forget_fault, take_fault
from baton._src.runtime.timed_module import TimedModule
from baton._src.support.diagnostics import fail
from baton._src.values.dlpack import CODES, DLTensor
from baton._src.values.tensor import NDArray

ENTRY = "__tvm_main__"
"""The string that names the function which a call of the library calls."""
_INT, _FLOAT, _NULL, _TENSOR, _STRING, _BOOL = 0, 2, 4, 7, 11, 15
"""TVM's codes of the types of arguments."""
_KINDS = {"b": (1, 1), "i": (0, 0), "u": (1, 0), "f": (2, 0)}
"""NumPy's kinds of elements: DLPack's numbers, and the bits of an element (0: those it takes)."""
_Function = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
)


class SharedLibrary(TimedModule):
    """The functions of a shared library."""

    type_key: ClassVar[str] = "library"
    is_binary_serializable: ClassVar[bool] = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened = open_library(path)

    def __repr__(self) -> str:
        return f"<SharedLibrary {self.path}>"

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function `name`; `DiagnosticError` (`function-missing`) if there is none."""
        address = self._address(name)
        if address is None:
            there = "names are those that kernels were built with"
            raise fail("function-missing", f"{self.path} has no function {name!r}", help=there, kind=AttributeError)
        return partial(_call, _Function(address), name, self._opened)

    def _address(self, name: str) -> int | None:
        return next(
            (a for n in (packed_name(name), name) if (a := function_address(self._opened, n)) is not None), None
        )

    @property
    def entry_name(self) -> str:
        """The name of the function that a call of the library calls. Error `function-missing`: none is."""
        if function_address(self._opened, ENTRY) is None:
            help = "choose one: library[name](...)"
            raise fail("function-missing", f"{self.path} does not say which function is called", help=help)
        return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(self._opened, ENTRY))).decode()

    @property
    def entry_func(self) -> Callable[..., Any]:
        """The function that a call of the library calls."""
        return self[self.entry_name]

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)


def _call(function: Any, name: str, opened: Any, *given: Any) -> Any:
    """Call a function; what it returns, or the error that it told as `DiagnosticError` (`kernel-fault`)."""
    values, codes = (ctypes.c_int64 * len(given))(), (ctypes.c_int32 * len(given))()
    result, code = ctypes.c_int64(), ctypes.c_int32(_NULL)
    keep: list[Any] = [opened]
    for place, value in enumerate(given):
        values[place], codes[place] = _argument(name, place, value, keep)
    forget_fault()
    failed = function(values, codes, len(given), ctypes.byref(result), ctypes.byref(code), None)
    if failed:
        raise fail("kernel-fault", take_fault() or f"{name}: the call failed")
    return _result(name, result, code.value)


def _argument(name: str, place: int, value: Any, keep: list[Any]) -> tuple[int, int]:
    """An argument as a word, and the code of its type."""
    match value:
        case NDArray():
            keep.append(_tensor(value.data, keep))
            return ctypes.addressof(keep[-1]), _TENSOR
        case bool() | np.bool_():
            return int(value), _BOOL
        case int() | np.integer():
            return int(value), _INT
        case float() | np.floating():
            return int(np.float64(value).view(np.int64)), _FLOAT
        case str():
            keep.append(ctypes.create_string_buffer(value.encode()))
            return ctypes.addressof(keep[-1]), _STRING
        case None:
            return 0, _NULL
        case _:
            kind = type(value).__name__
            message = f"{name}: argument {place} is a {kind}, functions of C take tensors, numbers and strings"
            raise fail("value-mismatch", message, help="tvm.nd.array(x) makes a tensor of an array", kind=TypeError)


def _tensor(array: Any, keep: list[Any]) -> DLTensor:
    """The description of an array, which has to stay."""
    code, bits = (CODES[array.dtype], 0) if array.dtype in CODES else _KINDS[array.dtype.kind]
    size = array.dtype.itemsize
    dims = ctypes.c_int64 * max(array.ndim, 1)
    shape, strides = dims(*array.shape), dims(*(step // size for step in array.strides))
    keep += [array, shape, strides]
    return DLTensor(
        array.ctypes.data, (1, 0), array.ndim, code, bits or 8 * size, 1, shape,
        None if array.flags.c_contiguous else strides, 0,
    )  # fmt: skip


def _result(name: str, result: Any, code: int) -> Any:
    match code:
        case 0:
            return result.value
        case 2:
            return float(np.int64(result.value).view(np.float64))
        case 4:
            return None
        case 11:
            return ctypes.string_at(result.value).decode()
        case 15:
            return bool(result.value)
        case _:
            raise fail("value-mismatch", f"{name} returned a value of TVM's type {code}", help="numbers are understood")
