"""The process's one LLVM linker: turn object code or IR text into addresses.

Low-level half of `native.library` (compiled kernels) and `thread_pool` (its IR).
"""

from __future__ import annotations

import ctypes
import itertools
import platform
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from baton._src.support.diagnostics import InternalError
from baton._src.support.once import once

_link_lock = threading.Lock()
_library_numbers = itertools.count()


@cache
def initialize_llvm() -> None:
    """Make LLVM ready for this machine; cheap after the first time."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@once
def _jit() -> Any:
    """Libraries live in dynamic libraries of their own inside it.

    JITLink, where there is one for the system's objects: it places the parts of an object side by side. The older
    linker maps each by itself, and ends the process if they come to lie further apart than code can reach (on ARM they
    did).
    """
    initialize_llvm()
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    return llvm.create_lljit_compiler(machine, use_jit_link=platform.system() == "Linux")


def link(objects: Iterable[bytes], exports: Iterable[str], imports: Mapping[str, int], ir: str | None = None) -> Any:
    """Link objects (and IR text) into one library; `result[export]` is an address, valid while `result` lives."""
    builder = llvm.JITLibraryBuilder()
    for content in objects:
        builder.add_object_img(content)
    if ir is not None:
        builder.add_ir(ir)
    for name in exports:
        builder.export_symbol(name)
    for name, address in imports.items():
        builder.import_symbol(name, address)
    with _link_lock:
        try:
            return builder.link(_jit(), f"baton.{next(_library_numbers)}")
        except RuntimeError as error:
            raise InternalError(f"linking object code failed: {error}") from error


def process_symbol(name: str) -> int | None:
    """The address of a function of a library loaded in this process (libc, libm), or None: until one is loaded that has
    it.
    """
    for library in _system_libraries():
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
    return None


@cache
def _system_libraries() -> tuple[Any, ...]:
    found = []
    for name in (None, "libm.so.6", "libSystem.dylib", "ucrtbase.dll", "kernelbase.dll"):
        try:
            found.append(ctypes.CDLL(name))
        except (OSError, TypeError):
            continue  # another system's library
    return tuple(found)
