"""Libraries that a C compiler made of a program's C code: `NativeLibrary` of a file instead of object code.

Functions return -1 after a fault, having told `__TVMAPISetLastError`, a variable of the library, what it was. It is
recorded where machine code of LLVM records faults (`faults`), so that callers need not know which code they call.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

from baton._src.runtime.native.c_names import bare_name
from baton._src.runtime.native.faults import CLAIMED, WORDS, present_cell
from baton._src.runtime.native.library import NativeLibrary
from baton._src.support.diagnostics import fail

_HOOK = "__TVMAPISetLastError"
_Hook = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_messages: dict[int, Any] = {}
"""The message of the last fault by the address of its cell, which refers to it."""


class CLibrary(NativeLibrary):
    """A shared library. Errors of a call are those of `NativeLibrary`."""

    def __init__(self, path: Path) -> None:
        self._opened = open_library(path)
        self.packed_calls = None
        self.uses_threads = False
        self.has_loops = False

    def address(self, symbol: str) -> int:
        """The entry point of `symbol`; `DiagnosticError` (`object-symbol`) if there is none."""
        found = function_address(self._opened, bare_name(symbol))
        if found is None:
            raise fail("object-symbol", f"the library has no function {symbol!r}", help="export the program again")
        return found


def open_library(path: Path) -> Any:
    """The library, linked into the process, its faults being recorded. Error `object-corrupt`: it cannot be."""
    try:
        opened = ctypes.CDLL(str(path.resolve()))
    except OSError as error:
        help = "it has to be made for this machine, and to link every library that it needs"
        raise fail("object-corrupt", f"{path} cannot be loaded: {error}", help=help) from error
    if function_address(opened, _HOOK) is not None:
        ctypes.c_void_p.in_dll(opened, _HOOK).value = ctypes.cast(_RECORD, ctypes.c_void_p).value
    return opened


def function_address(opened: Any, name: str) -> int | None:
    """The address of what a library calls `name`; None if it has nothing of that name."""
    try:
        found = ctypes.cast(opened[name], ctypes.c_void_p).value
    except AttributeError:
        return None
    return None if found == _elsewhere(name) else found


def _elsewhere(name: str) -> int | None:
    """What another library, such as C's, calls by this name, which is found in every library that needs it."""
    try:
        return ctypes.cast(ctypes.CDLL(None)[name], ctypes.c_void_p).value
    except (AttributeError, TypeError, OSError):
        return None


def _record(message: bytes) -> None:
    cell = present_cell()
    words = (ctypes.c_int64 * WORDS).from_address(cell)
    if words[0]:
        return
    text = _messages[cell] = ctypes.create_string_buffer(message.replace(b"{", b"{{").replace(b"}", b"}}"))
    words[0], words[CLAIMED] = ctypes.addressof(text), 1


_RECORD = _Hook(_record)
