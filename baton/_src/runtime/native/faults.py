"""Faults of native calls: a kernel records the fault in a cell and returns, and its caller raises the error.

A cell is eight 64-bit words: the address of a message (a C string with `{0}`, `{1}`, `{2}`), three numbers for it, the
address of a string with its place in the program (or 0), and whether a thread has begun to record a fault. It belongs
to the calling thread, and workers that run parts of the call record in their caller's cell: the first fault wins, and
calls from several threads do not interfere.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.support.once import once

WORDS = 8
FAULT_SYMBOL = "baton_fault_cell"
"""`baton_fault_cell() -> the address of the present thread's cell`: what compiled code imports."""

_NOTHING = [0] * WORDS
_find = ctypes.CFUNCTYPE(ctypes.c_size_t)


class _Cell(threading.local):
    """The present thread's cell."""

    def __init__(self) -> None:
        self.words: Any = (ctypes.c_int64 * WORDS).from_address(_find(fault_entry())())


@once
def _cell() -> _Cell:
    """The cell, created with the first call: it needs the thread pool's library."""
    return _Cell()


def fault_entry() -> int:
    """The address of `baton_fault_cell`."""
    return thread_pool().cell_entry


def take_fault() -> str | None:
    """The message of the fault of the last native call of this thread, or None. Afterwards the cell is empty.

    The message is stored in the library that was called, which has to be alive.
    """
    words = _cell().words
    if words[0] == 0:
        return None
    text = ctypes.string_at(words[0]).decode().format(*words[1:4])
    if words[4]:
        text = f"{ctypes.string_at(words[4]).decode()}: {text}"
    words[:] = _NOTHING
    return text


def forget_fault() -> None:
    """Empty the cell before a call: an earlier call may have left a fault that was not raised."""
    _cell().words[:] = _NOTHING


@contextmanager
def without_faults() -> Iterator[None]:
    """Forget the faults of calls inside: the cell is then as before."""
    words = _cell().words
    before = list(words)
    try:
        yield
    finally:
        words[:] = before
