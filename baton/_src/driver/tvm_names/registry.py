"""The process's table of packed functions, by name: `tvm.register_func`, `tvm.get_global_func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.runtime.vm.builtins.table import BUILTINS
from baton._src.runtime.vm.packed_functions import registered_or_builtin
from baton._src.support.diagnostics import fail
from baton._src.values import ffi
from baton._src.values.convert import from_host
from baton._src.values.packed_func import PROCESS_FUNCTIONS, PackedFunc


def register_func(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Register `f` under `func_name`; without `f`, a decorator (bare, it takes the function's own name).

    It is one of tvm-ffi's global functions as well, so libraries of other languages can call it. Raises
    `DiagnosticError` if the name is taken, unless `override`.
    """
    if callable(func_name):
        return _register(func_name.__name__, func_name, override)
    if f is not None:
        return _register(func_name, f, override)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return _register(func_name, function, override)

    return decorate


def _register(name: str, function: Callable[..., Any], override: bool) -> Callable[..., Any]:
    if not override and PROCESS_FUNCTIONS.get(name) is not None:
        raise fail(
            "packed-exists",
            f"a packed function {name!r} is registered already",
            help="pass override=True to replace it",
        )
    PROCESS_FUNCTIONS.register(name, function, override)
    PROCESS_FUNCTIONS.share(name, override=override)
    return function


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """The function registered as `name`, or the VM's builtin; None if missing is allowed, else an error."""
    found = registered_or_builtin(name)
    if found is None and not allow_missing:
        raise fail("function-missing", f"no packed function is registered as {name!r}", kind=ValueError)
    return found


def remove_global_func(name: str) -> None:
    """Forget a function, here and among tvm-ffi's global functions."""
    PROCESS_FUNCTIONS.remove(name)
    package = ffi.tvm_ffi()
    if package.get_global_func(name, allow_missing=True) is not None:
        package.remove_global_func(name)


def list_global_func_names() -> list[str]:
    """All names: those registered here, the VM's builtins, and tvm-ffi's."""
    return sorted({*PROCESS_FUNCTIONS.names(), *BUILTINS, *ffi.tvm_ffi().registry.list_global_func_names()})


def convert(value: Any) -> Any:
    """A Python value as programs see it: functions are packed functions, tuples shapes or tuples, numbers scalars."""
    return PackedFunc(value) if callable(value) and not isinstance(value, PackedFunc) else from_host(value)
