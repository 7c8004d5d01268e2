"""Packed functions called from native code: `baton_packed_call(library, site, words) -> 0, or 1: the kernel must end`.

`site` is a constant of the kernel, JSON text: the function's name, the dtype of the result ("" if nobody uses it) and
the operands. `words` are 64-bit words on the kernel's stack: those of each operand one after the other, widened to
int64, uint64 or float64; of a tensor the address, the offset, the sizes, and the strides if it has any. The result
comes back in the first word.

The function runs under Python's lock, on whichever thread runs that part of the kernel. What it raises is kept beside
the cell of the call's faults, where the kernel notes that it ended; `faults.raise_fault` raises it to the caller. The
first exception counts, and no function is called after a fault. Calls of other kernels from within a function have
a cell of their own.
"""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

from baton._src.runtime.linker import link
from baton._src.runtime.native.faults import CallError, has_fault, keep_exception
from baton._src.runtime.native.interrupts import noted_entry
from baton._src.runtime.native.packed_tensors import LentTensors, number_of
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.runtime.value_errors import describe
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.once import once
from baton._src.values.dtype import DataType
from baton._src.values.packed_func import PackedFunc

PACKED_SYMBOL = "baton_packed_call"
LIBRARY_SYMBOL = "baton_packed_library"
"""What stands for the library that a kernel is in: the address of `PackedCalls._function`."""

Find = Callable[[str], PackedFunc]
"""Looks a function up by name; `DiagnosticError` (`packed-missing`) if there is none."""


@dataclass(frozen=True)
class TensorSlot:
    """A tensor among the operands."""

    dtype: DataType
    ndim: int
    has_strides: bool


@dataclass(frozen=True)
class TextSlot:
    """A text among the operands, which takes no words."""

    text: str


Slot = DataType | TensorSlot | TextSlot
"""An operand; a dtype for a number or a pointer."""


@dataclass(frozen=True)
class PackedSite:
    """A place in a kernel that calls a packed function. `is_traced`: a result of None is that of the last operand."""

    name: str
    result: DataType | None
    slots: tuple[Slot, ...]
    is_traced: bool = False

    @cached_property
    def words(self) -> struct.Struct:
        """How the words are read."""
        return struct.Struct("=" + "".join(_words(slot) for slot in self.slots))

    def to_text(self) -> str:
        """The site as a kernel holds it."""
        result = "" if self.result is None else str(self.result)
        return json.dumps([self.name, result, [_slot_to_data(s) for s in self.slots], self.is_traced])

    @staticmethod
    @lru_cache(maxsize=1024)
    def from_text(text: bytes) -> PackedSite:
        """The inverse of `to_text`."""
        name, result, slots, is_traced = json.loads(text)
        return PackedSite(name, DataType(result) if result else None, tuple(map(_slot_from_data, slots)), is_traced)


def word_kind(dtype: DataType) -> str:
    """How `struct` spells the word that holds a number: q (int64), Q (uint64, pointers) or d (float64)."""
    return "d" if dtype.is_float else "q" if dtype.kind == "int" else "Q"


def _words(slot: Slot) -> str:
    match slot:
        case TextSlot():
            return ""
        case TensorSlot(ndim=ndim, has_strides=has_strides):
            return "Q" + "q" * (1 + ndim * (1 + has_strides))
        case _:
            return word_kind(slot)


def _slot_to_data(slot: Slot) -> Any:
    match slot:
        case TextSlot(text=text):
            return [text]
        case TensorSlot(dtype=dtype, ndim=ndim, has_strides=has_strides):
            return [str(dtype), ndim, has_strides]
        case _:
            return str(slot)


def _slot_from_data(data: Any) -> Slot:
    match data:
        case [text]:
            return TextSlot(text)
        case [dtype, ndim, has_strides]:
            return TensorSlot(DataType(dtype), ndim, has_strides)
        case _:
            return DataType(data)


_PYTHON = (
    *("PyGILState_Ensure", "PyGILState_Release", "PyLong_FromVoidPtr", "PyObject_CallFunctionObjArgs"),
    *("PyLong_AsLongLong", "Py_DecRef", "PyErr_Fetch", "PyThread_get_thread_ident"),
)

_IR = """
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare ptr @PyLong_FromVoidPtr(ptr)
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare i64 @PyLong_AsLongLong(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare i64 @PyThread_get_thread_ident()
declare ptr @baton_fault_cell()
declare ptr @baton_switch_cell(ptr)

define i64 @baton_packed_call(ptr %function, ptr %site, ptr %words) {
  %own.cell = alloca [8 x i64], align 8
  store [8 x i64] zeroinitializer, ptr %own.cell
  %cell = call ptr @baton_fault_cell()
  %r.own = call ptr @baton_switch_cell(ptr %own.cell)
  %state = call i32 @PyGILState_Ensure()
  %a = call ptr @PyLong_FromVoidPtr(ptr %site)
  %b = call ptr @PyLong_FromVoidPtr(ptr %words)
  %c = call ptr @PyLong_FromVoidPtr(ptr %cell)
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %function, ptr %a, ptr %b, ptr %c, ptr null)
  call void @Py_DecRef(ptr %a)
  call void @Py_DecRef(ptr %b)
  call void @Py_DecRef(ptr %c)
  %r.before = call ptr @baton_switch_cell(ptr %cell)
  %raised = icmp eq ptr %result, null
  br i1 %raised, label %note, label %done
done:
  %number = call i64 @PyLong_AsLongLong(ptr %result)
  call void @Py_DecRef(ptr %result)
  call void @PyGILState_Release(i32 %state)
  ret i64 %number
note:
  %noted = inttoptr i64 NOTED to ptr
  %p.value = getelementptr i64, ptr %noted, i64 1
  %p.trace = getelementptr i64, ptr %noted, i64 2
  %p.owner = getelementptr i64, ptr %noted, i64 3
  call void @PyErr_Fetch(ptr %noted, ptr %p.value, ptr %p.trace)
  %own = call i64 @PyThread_get_thread_ident()
  store i64 %own, ptr %p.owner
  call void @PyGILState_Release(i32 %state)
  ret i64 1
}
"""


@once
def _library() -> Any:
    """`baton_packed_call`. Python's own function cannot fail but for Ctrl-C, which is noted as in loops (`interrupts`):
    ctypes would only print what is raised before a function called back can handle it.
    """
    pool = thread_pool()
    cells = {"baton_fault_cell": pool.cell_entry, "baton_switch_cell": pool.switch_cell_entry}
    imports = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in _PYTHON}
    return link((), (PACKED_SYMBOL,), {**imports, **cells}, ir=_IR.replace("NOTED", str(noted_entry())))


def packed_entry() -> int:
    """The address of `baton_packed_call`."""
    address: int = _library()[PACKED_SYMBOL]
    return address


class PackedCalls:
    """The calls of one library's kernels, for which `find` looks functions up when they are called."""

    def __init__(self, find: Find) -> None:
        self.find = find
        self._function = self._call
        self.address = id(self._function)
        """Of the Python object that is called."""

    def _call(self, text: int, words: int, cell: int) -> int:
        if has_fault(cell):
            return 1
        try:
            site = PackedSite.from_text(ctypes.string_at(text))
            given = site.words.unpack(ctypes.string_at(words, site.words.size))
            result = run_packed(self._found(site.name), site, given)
            if site.result is not None:
                ctypes.memmove(words, struct.pack("=" + word_kind(site.result), result), 8)
        except BaseException as error:  # of any kind: the kernel's caller is to get it
            keep_exception(cell, error)
            return 1
        return 0

    def _found(self, name: str) -> PackedFunc:
        try:
            return self.find(name)
        except DiagnosticError as error:
            first = error.diagnostics[0]
            raise CallError(first.code, first.message, first.help) from error


def run_packed(function: PackedFunc, site: PackedSite, words: Sequence[Any]) -> Any:
    """Call a function on the operands in `words`, and give its result as a number of the site's dtype.

    Raises what the function raises, and `CallError` for results and tensors that it must not give or keep.
    """
    lent = LentTensors()
    given = _operands(site, iter(words), lent)
    last = given[-1] if site.is_traced else None
    try:
        found = function(*given)
    finally:
        given.clear()
        if site.result is None:
            found = None
        is_free = lent.take_back()
    if not is_free:
        message = f"the packed function {site.name!r} keeps the memory of a tensor that it was given"
        raise CallError("packed-tensor", message, "let it keep copies: x.numpy()")
    return None if site.result is None else _result(site, last if found is None and site.is_traced else found)


def _operands(site: PackedSite, words: Iterator[Any], lent: LentTensors) -> list[Any]:
    found: list[Any] = []
    for slot in site.slots:
        match slot:
            case TextSlot(text=text):
                found.append(text)
            case TensorSlot(dtype=dtype, ndim=ndim, has_strides=has_strides):
                address, offset = next(words), next(words)
                shape = [next(words) for _ in range(ndim)]
                strides = [next(words) for _ in range(ndim)] if has_strides else None
                found.append(lent.tensor(address, dtype, shape, strides, offset))
            case _:
                found.append(_scalar(next(words), slot))
    return found


def _scalar(word: Any, dtype: DataType) -> Any:
    if dtype.kind == "handle":
        return ctypes.c_void_p(word)
    return bool(word) if dtype.is_bool else float(word) if dtype.is_float else word


def _result(site: PackedSite, found: Any) -> int | float:
    assert site.result is not None
    number = number_of(found, site.result)
    if number is None:
        message = f"the packed function {site.name!r} returned {describe(found)} where the kernel needs a {site.result}"
        raise CallError("packed-result", message, "let it return a number in the range of this dtype")
    return number
