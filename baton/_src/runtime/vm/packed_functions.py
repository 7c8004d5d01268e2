"""Packed functions by name, as scripts and kernels find them: what is registered, else the VM's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from baton._src.runtime.vm.builtins.table import BUILTINS
from baton._src.values.packed_func import PROCESS_FUNCTIONS, PackedFunc


def registered_or_builtin(name: str) -> PackedFunc | None:
    """The packed function of this name; None if there is none."""
    found = PROCESS_FUNCTIONS.get(name)
    return PackedFunc(BUILTINS[name], name) if found is None and name in BUILTINS else found


def packed_by(attached: Mapping[str, PackedFunc]) -> Callable[[str], PackedFunc]:
    """The look-up of a program's kernels: what is attached to the program goes before what everybody finds."""
    return lambda name: attached.get(name) or packed_function(name)


def packed_function(name: str) -> PackedFunc:
    """The packed function of this name; `DiagnosticError` (`packed-missing`) if there is none."""
    return registered_or_builtin(name) or PROCESS_FUNCTIONS.lookup(name)
