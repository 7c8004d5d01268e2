"""Faults of native calls: a kernel records the fault in a cell and returns, and its caller raises the error.

A cell is eight 64-bit words: the address of a message (a C string with `{0}`, `{1}`, `{2}`), three numbers for it, the
address of a string with its place in the program (or 0), and whether a thread has begun to record a fault. It belongs
to the calling thread, and workers that run parts of the call record in their caller's cell: the first fault wins, and
calls from several threads do not interfere.

An exception that a packed function raised (`packed_calls`) is kept here by the address of the cell, in which the kernel
notes that there is one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.support.diagnostics import fail

WORDS = 8
CLAIMED = 5
"""The word that says whether a thread has begun to record a fault."""
FAULT_SYMBOL = "baton_fault_cell"
"""`baton_fault_cell() -> the address of the present thread's cell`: what compiled code imports."""

RAISED = "a packed function raised an exception"
"""What kernels note as their fault then."""

_NOTHING = [0] * WORDS
_exceptions: dict[int, BaseException] = {}
"""What packed functions raised, by the address of the cell of the call that ended with it."""


class CallError(Exception):
    """A packed function cannot be called, or did what it must not: the caller's error is told with its kernel."""

    def __init__(self, code: str, message: str, help: str | None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help


@cache
def _finder() -> Any:
    return ctypes.CFUNCTYPE(ctypes.c_size_t)(fault_entry())


def present_cell() -> int:
    """The address of the cell in which faults are recorded now: on a worker that of the call it takes part in."""
    found: int = _finder()()
    return found


def _words() -> Any:
    return (ctypes.c_int64 * WORDS).from_address(present_cell())


def has_fault(cell: int) -> bool:
    """Whether a fault was recorded in the cell at this address."""
    return ctypes.c_int64.from_address(cell + 8 * CLAIMED).value != 0


def keep_exception(cell: int, error: BaseException) -> None:
    """Keep what a packed function raised until the call that the cell belongs to returns; the first one counts."""
    _exceptions.setdefault(cell, error)


def fault_entry() -> int:
    """The address of `baton_fault_cell`."""
    return thread_pool().cell_entry


def take_fault() -> str | None:
    """The message of the fault of the last native call of this thread, or None. Afterwards the cell is empty.

    The message is stored in the library that was called, which has to be alive.
    """
    words = _words()
    if words[0] == 0:
        return None
    text = ctypes.string_at(words[0]).decode().format(*words[1:4])
    if words[4]:
        text = f"{ctypes.string_at(words[4]).decode()}: {text}"
    words[:] = _NOTHING
    return text


def raise_fault(name: str) -> None:
    """Raise the error of the fault, if there is one, of the last native call of this thread, which was one of `name`:
    `DiagnosticError` (`kernel-fault`), or what a packed function raised. Afterwards the cell is empty.
    """
    cell = present_cell()
    text = take_fault()
    if text is None:
        return
    error = _exceptions.pop(cell, None)
    if isinstance(error, CallError):
        where = text.removesuffix(RAISED)
        raise fail(error.code, f"{name}: {where}{error.message}", help=error.help) from error.__cause__
    if error is not None:
        try:
            raise error
        finally:
            del error  # its traceback refers to this call
    raise fail("kernel-fault", f"{name}: {text}")


def forget_fault() -> None:
    """Empty the cell before a call: an earlier call may have left a fault that was not raised."""
    cell = present_cell()
    ctypes.memset(cell, 0, 8 * WORDS)
    if _exceptions:
        _exceptions.pop(cell, None)


@contextmanager
def without_faults() -> Iterator[None]:
    """Forget the faults of calls inside: the cell is then as before."""
    words = _words()
    before = list(words)
    try:
        yield
    finally:
        words[:] = before
