"""Call a native entry on NumPy arrays by a single foreign call: checks and addresses are in machine code.

Reading dtype, flags, shape and address of an array in Python costs about half a microsecond each, more than a small
model computes. An array object holds them at fixed offsets (NumPy's C ABI, unchanged since 1.0), so a few lines of LLVM
IR read them: `call(recipe, arrays, threads)` compares every input with the recipe, fills the entry's table of words and
runs the entry. Where this Python or NumPy lays objects out differently, `array_caller` returns None and callers use
Python instead.

A recipe is words: entry, number of inputs, number of tensors, number of further words, the array type; for each input
its descr, number of dims and dims; then the further words of the table.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from baton._src.runtime.linker import link
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.values.tensor import AnyArray

DONE, OTHER, FAULT = 0, 1, 2
"""Results of a call: outputs are written; inputs do not fit and nothing ran; a kernel noted a fault."""

ArrayCall = Callable[[int, tuple[Any, ...], int], int]

_USABLE = 0x501
"""The flags of arrays that are C-contiguous, aligned and writeable."""
_BASE = object.__basicsize__
_ITEMS = tuple.__basicsize__
_FIXED = 5

_IR = """
declare i64 @baton_thread_limit(i64)
declare ptr @baton_fault_cell()

define i32 @baton_array_call(ptr %recipe, ptr %tuple, i64 %threads) {{
entry:
  %p.inputs = getelementptr i64, ptr %recipe, i64 1
  %inputs = load i64, ptr %p.inputs
  %p.tensors = getelementptr i64, ptr %recipe, i64 2
  %tensors = load i64, ptr %p.tensors
  %p.more = getelementptr i64, ptr %recipe, i64 3
  %more = load i64, ptr %p.more
  %p.type = getelementptr i64, ptr %recipe, i64 4
  %type = load i64, ptr %p.type
  %words = add i64 %tensors, %more
  %room = add i64 %words, 1
  %table = alloca i64, i64 %room, align 64
  %items = getelementptr i8, ptr %tuple, i64 {items}
  %first = getelementptr i64, ptr %recipe, i64 {fixed}
  br label %inputs.head
inputs.head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %fits ]
  %facts = phi ptr [ %first, %entry ], [ %facts.next, %fits ]
  %checked = icmp uge i64 %i, %inputs
  br i1 %checked, label %tensors.head, label %look
look:
  %p.item = getelementptr ptr, ptr %items, i64 %i
  %item = load ptr, ptr %p.item
  %p.own.type = getelementptr i8, ptr %item, i64 {type}
  %own.type = load i64, ptr %p.own.type
  %typed = icmp eq i64 %own.type, %type
  br i1 %typed, label %array, label %other
array:
  %p.descr = getelementptr i8, ptr %item, i64 {descr}
  %descr = load i64, ptr %p.descr
  %wanted.descr = load i64, ptr %facts
  %descr.fits = icmp eq i64 %descr, %wanted.descr
  %p.flags = getelementptr i8, ptr %item, i64 {flags}
  %flags = load i32, ptr %p.flags
  %usable = and i32 %flags, {usable}
  %flags.fit = icmp eq i32 %usable, {usable}
  %p.rank = getelementptr i8, ptr %item, i64 {rank}
  %rank32 = load i32, ptr %p.rank
  %rank = zext i32 %rank32 to i64
  %p.wanted.rank = getelementptr i64, ptr %facts, i64 1
  %wanted.rank = load i64, ptr %p.wanted.rank
  %rank.fits = icmp eq i64 %rank, %wanted.rank
  %both = and i1 %descr.fits, %flags.fit
  %all = and i1 %both, %rank.fits
  br i1 %all, label %shaped, label %other
shaped:
  %p.dims = getelementptr i8, ptr %item, i64 {dims}
  %dims = load ptr, ptr %p.dims
  %wanted.dims = getelementptr i64, ptr %facts, i64 2
  br label %dims.head
dims.head:
  %d = phi i64 [ 0, %shaped ], [ %d.next, %dim.fits ]
  %equal = icmp uge i64 %d, %rank
  br i1 %equal, label %fits, label %dim
dim:
  %p.dim = getelementptr i64, ptr %dims, i64 %d
  %dim.own = load i64, ptr %p.dim
  %p.wanted.dim = getelementptr i64, ptr %wanted.dims, i64 %d
  %dim.wanted = load i64, ptr %p.wanted.dim
  %same = icmp eq i64 %dim.own, %dim.wanted
  br i1 %same, label %dim.fits, label %other
dim.fits:
  %d.next = add i64 %d, 1
  br label %dims.head
fits:
  %i.next = add i64 %i, 1
  %facts.next = getelementptr i64, ptr %wanted.dims, i64 %rank
  br label %inputs.head
other:
  ret i32 1

tensors.head:
  %t = phi i64 [ 0, %inputs.head ], [ %t.next, %tensor ]
  %placed = icmp uge i64 %t, %tensors
  br i1 %placed, label %more.head, label %tensor
tensor:
  %p.tensor = getelementptr ptr, ptr %items, i64 %t
  %object = load ptr, ptr %p.tensor
  %p.data = getelementptr i8, ptr %object, i64 {data}
  %data = load i64, ptr %p.data
  %p.word = getelementptr i64, ptr %table, i64 %t
  store i64 %data, ptr %p.word
  %t.next = add i64 %t, 1
  br label %tensors.head
more.head:
  %m = phi i64 [ 0, %tensors.head ], [ %m.next, %further ]
  %full = icmp uge i64 %m, %more
  br i1 %full, label %run, label %further
further:
  %p.from = getelementptr i64, ptr %facts, i64 %m
  %word = load i64, ptr %p.from
  %place = add i64 %tensors, %m
  %p.to = getelementptr i64, ptr %table, i64 %place
  store i64 %word, ptr %p.to
  %m.next = add i64 %m, 1
  br label %more.head

run:
  %cell = call ptr @baton_fault_cell()
  store <8 x i64> zeroinitializer, ptr %cell, align 8
  %code = load ptr, ptr %recipe
  %common = icmp eq i64 %threads, 0
  br i1 %common, label %plain, label %limited
plain:
  call void %code(ptr %table)
  br label %ran
limited:
  %before = call i64 @baton_thread_limit(i64 %threads)
  call void %code(ptr %table)
  %r = call i64 @baton_thread_limit(i64 %before)
  br label %ran
ran:
  %fault = load i64, ptr %cell
  %failed = icmp ne i64 %fault, 0
  %answer = select i1 %failed, i32 2, i32 0
  ret i32 %answer
}}
"""


@cache
def array_caller() -> ArrayCall | None:
    """`call(address of a recipe, (*inputs, *outputs, *arena), limit of threads or 0)`; None where it cannot be used."""
    if not _layout_is_known():
        return None
    text = _IR.format(
        items=_ITEMS, fixed=_FIXED, usable=_USABLE, type=_BASE - 8, data=_BASE, rank=_BASE + 8, dims=_BASE + 16,
        descr=_BASE + 40, flags=_BASE + 48,
    )  # fmt: skip
    pool = thread_pool()
    imports = {"baton_thread_limit": pool.limit_entry, "baton_fault_cell": pool.cell_entry}
    library = link((), ("baton_array_call",), imports, ir=text)
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_size_t, ctypes.py_object, ctypes.c_int64)
    entry: Any = prototype(library["baton_array_call"])
    entry.library = library  # the code lives as long as the function
    call: ArrayCall = entry
    return call


def recipe(entry: int, inputs: Sequence[tuple[np.dtype[Any], Sequence[int]]], outputs: int, tail: bytes) -> bytes:
    """The words of a recipe; `outputs` counts the tensors behind the inputs, `tail` are the words behind those."""
    words = [entry, len(inputs), len(inputs) + outputs, len(tail) // 8, id(np.ndarray)]
    for dtype, shape in inputs:
        words += [id(dtype), len(shape), *shape]
    return struct.pack(f"={len(words)}q", *words) + tail


def _layout_is_known() -> bool:
    """Whether objects are laid out as the machine code expects, seen on a few arrays and a tuple."""
    if sys.implementation.name != "cpython" or struct.calcsize("P") != 8 or _BASE != 16:
        return False
    samples: list[AnyArray] = [np.empty(3, np.float32), np.empty((2, 0)), np.empty(()), np.empty((4, 6))[1:, ::2]]
    together = tuple(samples)
    places = [_word(id(together) + _ITEMS + 8 * i) for i in range(len(samples))]
    return places == [id(a) for a in samples] and all(map(_reads_right, samples))


def _reads_right(array: AnyArray) -> bool:
    at = id(array) + _BASE
    dims = _word(at + 16)
    return (
        _word(id(array) + _BASE - 8) == id(np.ndarray)
        and _word(at) == array.ctypes.data
        and ctypes.c_int32.from_address(at + 8).value == array.ndim
        and all(_word(dims + 8 * i) == size for i, size in enumerate(array.shape))
        and _word(at + 40) == id(array.dtype)
        and (ctypes.c_int32.from_address(at + 48).value ^ array.flags.num) & _USABLE == 0
    )


def _word(address: int) -> int:
    return ctypes.c_size_t.from_address(address).value
