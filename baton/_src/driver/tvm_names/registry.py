"""The process's table of packed functions, by name: `tvm.register_func`, `tvm.get_global_func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.support.diagnostics import fail
from baton._src.values.convert import from_host
from baton._src.values.packed_func import PROCESS_FUNCTIONS, PackedFunc


def register_func(func_name: Any, f: Callable[..., Any] | None = None, override: bool = False) -> Any:
    """Register `f` under `func_name`; without `f`, a decorator (bare, it takes the function's own name).

    Raises `DiagnosticError` if the name is taken, unless `override`.
    """
    if callable(func_name):
        PROCESS_FUNCTIONS.register(func_name.__name__, func_name, override)
        return func_name
    if f is not None:
        PROCESS_FUNCTIONS.register(func_name, f, override)
        return f

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        PROCESS_FUNCTIONS.register(func_name, function, override)
        return function

    return decorate


def get_global_func(name: str, allow_missing: bool = False) -> PackedFunc | None:
    """The function registered as `name`; None if missing is allowed, else an error."""
    found = PROCESS_FUNCTIONS.get(name)
    if found is None and not allow_missing:
        raise fail("function-missing", f"no packed function is registered as {name!r}")
    return found


def remove_global_func(name: str) -> None:
    """Forget a function."""
    PROCESS_FUNCTIONS.remove(name)


def list_global_func_names() -> list[str]:
    """All registered names."""
    return PROCESS_FUNCTIONS.names()


def convert(value: Any) -> Any:
    """A Python value as programs see it: functions are packed functions, tuples shapes or tuples, numbers scalars."""
    return PackedFunc(value) if callable(value) and not isinstance(value, PackedFunc) else from_host(value)
