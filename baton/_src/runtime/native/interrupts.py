"""Ctrl-C inside native loops: a loop regularly lets Python handle pending signals, and ends if a handler raises.

A loop counts its iterations; at intervals it calls `baton_poll(words)`, which reads the clock and chooses the number of
iterations until the next poll (1 to 64: a poll takes about 30 ns, and polls should not be more than some milliseconds
apart). Twenty times a second it then takes the GIL and lets Python's handlers run, as between two bytecodes (only in
the main thread, as always). If one raises, the exception is stored here, the loop and those around it end as if they
were done, and the caller of the native code raises the exception instead of returning results (`raise_noted`).

The words, all int64, in the loop's own memory: iterations until the next poll, iterations between polls, the time of
the last poll in nanoseconds (0: there was none), the time Python's handlers last ran.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from functools import cache
from typing import Any

from baton._src.runtime.linker import link, process_symbol
from baton._src.support.once import once

POLL_SYMBOL = "baton_poll"
POLL_WORDS = 4
FIRST_LOOK = 4
"""Iterations until the first poll, and between the first polls."""

_PYTHON = ("PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyErr_Fetch", "PyThread_get_thread_ident")

_IR = """
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare i32 @PyErr_CheckSignals()
declare void @PyErr_Fetch(ptr, ptr, ptr)
declare i64 @PyThread_get_thread_ident()

@baton_noted = global [4 x i64] zeroinitializer

define i64 @baton_poll(ptr %words) {
  %p.interval = getelementptr i64, ptr %words, i64 1
  %p.last = getelementptr i64, ptr %words, i64 2
  %p.asked = getelementptr i64, ptr %words, i64 3
  %interval = load i64, ptr %p.interval
  %last = load i64, ptr %p.last
  %now = call i64 @now()
  store i64 %now, ptr %p.last
  %first = icmp eq i64 %last, 0
  br i1 %first, label %begin, label %look
begin:
  store i64 %now, ptr %p.asked
  store i64 %interval, ptr %words
  ret i64 0
look:
  %gone = sub i64 %now, %last
  %quick = icmp slt i64 %gone, 1000000
  %slow = icmp sgt i64 %gone, 10000000
  %double = shl i64 %interval, 1
  %most = call i64 @llvm.smin.i64(i64 %double, i64 64)
  %kept = select i1 %quick, i64 %most, i64 %interval
  %next = select i1 %slow, i64 1, i64 %kept
  store i64 %next, ptr %p.interval
  store i64 %next, ptr %words
  %asked = load i64, ptr %p.asked
  %since = sub i64 %now, %asked
  %due = icmp sgt i64 %since, 50000000
  br i1 %due, label %ask, label %on
on:
  ret i64 0
ask:
  store i64 %now, ptr %p.asked
  %state = call i32 @PyGILState_Ensure()
  %p.owner = getelementptr i64, ptr @baton_noted, i64 3
  %own = call i64 @PyThread_get_thread_ident()
  %owner = load i64, ptr %p.owner
  %waits = icmp eq i64 %own, %owner
  br i1 %waits, label %leave, label %handle
handle:
  %raised = call i32 @PyErr_CheckSignals()
  %quiet = icmp eq i32 %raised, 0
  br i1 %quiet, label %nothing, label %note
nothing:
  call void @PyGILState_Release(i32 %state)
  ret i64 0
note:
  %p.value = getelementptr i64, ptr @baton_noted, i64 1
  %p.trace = getelementptr i64, ptr @baton_noted, i64 2
  call void @PyErr_Fetch(ptr @baton_noted, ptr %p.value, ptr %p.trace)
  store i64 %own, ptr %p.owner
  br label %leave
leave:
  call void @PyGILState_Release(i32 %state)
  ret i64 1
}

declare i64 @llvm.smin.i64(i64, i64)
"""

_POSIX_CLOCK = """
declare i32 @clock_gettime(i32, ptr)

define internal i64 @now() {
  %time = alloca [2 x i64], align 8
  %r = call i32 @clock_gettime(i32 CLOCK, ptr %time)
  %seconds = load i64, ptr %time
  %p.rest = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %p.rest
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}
"""

_WINDOWS_CLOCK = """
declare i64 @GetTickCount64()

define internal i64 @now() {
  %ticks = call i64 @GetTickCount64()
  %now = mul i64 %ticks, 1000000
  ret i64 %now
}
"""

_NEVER = """
@baton_noted = global [4 x i64] zeroinitializer

define i64 @baton_poll(ptr %words) {
  store i64 64, ptr %words
  ret i64 0
}
"""


@once
def _library() -> Any:
    """`baton_poll` and the cell for exceptions. Without CPython's interface, or a clock, it never runs handlers."""
    exports = (POLL_SYMBOL, "baton_noted")
    clock = next((name for name in ("clock_gettime", "GetTickCount64") if process_symbol(name) is not None), None)
    if sys.implementation.name != "cpython" or clock is None:
        return link((), exports, {}, ir=_NEVER)
    imports = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _PYTHON}
    imports[clock] = process_symbol(clock)
    monotonic = "6" if sys.platform == "darwin" else "1"
    now = _WINDOWS_CLOCK if clock == "GetTickCount64" else _POSIX_CLOCK.replace("CLOCK", monotonic)
    return link((), exports, {name: address or 0 for name, address in imports.items()}, ir=_IR + now)


def poll_entry() -> int:
    """The address of `baton_poll(words) -> 1 if the loop must end`."""
    address: int = _library()[POLL_SYMBOL]
    return address


def noted_entry() -> int:
    """The address of the cell for exceptions: type, value, traceback, the thread that they are for."""
    address: int = _library()["baton_noted"]
    return address


def raise_noted() -> None:
    """Raise the exception, if any, that a handler raised while this thread was in a native loop."""
    cell = _noted()
    if cell[0] == 0 or cell[3] != threading.get_ident():
        return
    exception = tuple(cell[:3])
    cell[:] = [0, 0, 0, 0]
    _restore()(*exception)


@cache
def _noted() -> Any:
    return (ctypes.c_uint64 * 4).from_address(noted_entry())


@cache
def _restore() -> Any:
    """Sets Python's error indicator, which ctypes then raises."""
    function = ctypes.pythonapi.PyErr_Restore
    function.argtypes = [ctypes.c_void_p] * 3
    function.restype = None
    return function
