"""Load object code into the process and find its functions.

    library = load(object_code)            # bytes of `codegen.llvm.module.compile_module`
    address = library.address("main")      # a C function, see below

Calling convention of every exported function: the platform's C convention, no return value. Arguments are those of
`tir.kernel_abi`: the PrimFunc's params in order (handle -> data pointer; integers, floats and bools as their C types,
float16 and bfloat16 as uint16 bits), then one i64 per shape variable. Functions may be called from any number of Python
threads at once, with the GIL released. The code is valid as long as the `NativeLibrary` is referenced.

A failing assertion, or an index that lies outside its buffer, does not stop the process: the kernel records the fault
and returns early (`runtime.native.faults`). So it does when a packed function that it calls raises an exception
(`runtime.native.packed_calls`).

This module knows LLVM's linker (llvmlite), not the compiler.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import llvmlite.binding as llvm

from baton._src.runtime.linker import initialize_llvm, link, process_symbol
from baton._src.runtime.native.faults import FAULT_SYMBOL, fault_entry, raise_fault, take_fault
from baton._src.runtime.native.interrupts import POLL_SYMBOL, poll_entry, raise_noted
from baton._src.runtime.native.object_bundle import ObjectBundle
from baton._src.runtime.native.packed_calls import (
    LIBRARY_SYMBOL,
    PACKED_SYMBOL,
    Find,
    PackedCalls,
    packed_entry,
)
from baton._src.runtime.processor import host_features
from baton._src.runtime.thread_pool.threads import WORKSPACE_SYMBOLS, thread_pool
from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import PROCESS_FUNCTIONS

PARALLEL_SYMBOL = "baton_parallel_for"


class NativeLibrary:
    """Linked object code. Keep it alive while its addresses are in use."""

    def __init__(self, bundle: ObjectBundle, tracker: Any, packed_calls: PackedCalls | None = None) -> None:
        self._exports = bundle.exports
        self._tracker = tracker
        self.packed_calls = packed_calls
        """How its kernels call packed functions; None if they call none."""
        self.uses_threads = PARALLEL_SYMBOL in bundle.imports
        self.has_loops = POLL_SYMBOL in bundle.imports
        """Whether its loops poll for signals, so that callers must call `raise_noted`."""

    def find_packed(self, find: Find) -> None:
        """Look the packed functions that kernels call up by `find` from now on."""
        if self.packed_calls is not None:
            self.packed_calls.find = find

    @property
    def symbols(self) -> tuple[str, ...]:
        """The public functions, in the order they were compiled."""
        return tuple(self._exports)

    def address(self, symbol: str) -> int:
        """The entry point of `symbol`; `DiagnosticError` (`object-symbol`) if there is none."""
        inner = self._exports.get(symbol)
        if inner is None:
            known = ", ".join(sorted(self._exports)[:8])
            raise fail("object-symbol", f"the object code has no function {symbol!r}", help=f"it has: {known}")
        address: int = self._tracker[inner]
        return address

    def take_fault(self) -> str | None:
        """The message of the fault of this thread's last call, or None."""
        return take_fault()

    def raise_fault(self, name: str) -> None:
        """Raise the error of this thread's last call, if there was one; it was a call of `name`."""
        if self.has_loops or self.packed_calls is not None:
            raise_noted()
        raise_fault(name)


def load(
    object_code: bytes, externs: Mapping[str, int] | None = None, find: Find = PROCESS_FUNCTIONS.lookup
) -> NativeLibrary:
    """Link `object_code` into the process.

    `externs` gives addresses for symbols called with `call_extern`; others are looked for in the process (libc, libm).
    `find` gives the packed functions that kernels call, by name, at each call. Raises `DiagnosticError`:
    `object-corrupt`, `object-target` (made for another machine), `object-import`.
    """
    bundle = ObjectBundle.from_bytes(object_code)
    _check_target(bundle)
    packed_calls = PackedCalls(find) if PACKED_SYMBOL in bundle.imports else None
    own = {} if packed_calls is None else {PACKED_SYMBOL: packed_entry(), LIBRARY_SYMBOL: packed_calls.address}
    imports = {name: _import_address(name, {**own, **(externs or {})}) for name in bundle.imports}
    tracker = link(bundle.objects, set(bundle.exports.values()), imports)
    return NativeLibrary(bundle, tracker, packed_calls)


def _check_target(bundle: ObjectBundle) -> None:
    initialize_llvm()
    host = llvm.get_process_triple()
    alike = bundle.triple.split("-")[0] == host.split("-")[0]
    if not alike or llvm.get_object_format(bundle.triple) != llvm.get_object_format(host):
        raise fail(
            "object-target",
            f"the object code is for {bundle.triple}, this machine is {host}",
            help="compile the model for this machine",
        )
    missing = [name for name in bundle.features if name not in host_features()]
    if missing:
        raise fail(
            "object-target",
            f"this processor lacks {', '.join(missing)}, which the object code was made for",
            help="compile the model on this machine, or for a more general target",
        )


def _import_address(name: str, externs: Mapping[str, int]) -> int:
    if name in externs:
        return externs[name]
    if name == FAULT_SYMBOL:
        return fault_entry()
    if name == PARALLEL_SYMBOL:
        pool = thread_pool()
        pool.start_once()
        return pool.entry
    if name in WORKSPACE_SYMBOLS:
        return thread_pool().workspace_entries[name]
    if name == POLL_SYMBOL:
        return poll_entry()
    address = process_symbol(name)
    if address is None:
        raise fail("object-import", f"nothing in this process defines {name!r}", help="give its address in `externs`")
    return address
