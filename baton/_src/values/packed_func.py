"""Packed functions: opaque host functions, found by name, that programs call.

A Python function is called directly with the run-time values themselves (tensors as `NDArray`, which it may write). A
function of any tvm-ffi library (C++, Rust, ...) is called through its C ABI, tensors as DLPack without a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean
from baton._src.values import ffi
from baton._src.values.convert import from_host, to_ffi


class PackedFunc:
    """A named packed function. Calling it converts what comes back into a run-time value."""

    __slots__ = ("function", "is_foreign", "name")

    def __init__(self, function: Callable[..., Any], name: str = "") -> None:
        self.name = name or getattr(function, "__name__", "packed_func")
        self.function = function
        self.is_foreign = ffi.is_function(function)

    def __call__(self, *args: object) -> Any:
        if self.is_foreign:
            return from_host(self.function(*[to_ffi(a) for a in args]))
        return from_host(self.function(*args))

    def from_ffi(self, *args: object) -> object:
        """Called by tvm-ffi: converts the arguments and the result."""
        return to_ffi(self(*[from_host(a) for a in args]))

    def __repr__(self) -> str:
        return f"<PackedFunc {self.name}>"


class ExternalCode(PackedFunc):
    """The code that a code generator of a script's made of a part of a program: what `symbol` means in `module`."""

    __slots__ = ("module", "symbol")

    def __init__(self, function: Callable[..., object], name: str, module: object, symbol: str) -> None:
        super().__init__(function, name)
        self.module = module
        self.symbol = symbol


class FunctionTable:
    """Packed functions by name. What is not registered here is looked up among tvm-ffi's global functions."""

    def __init__(self) -> None:
        self._functions: dict[str, PackedFunc] = {}

    def share(self, name: str, override: bool = False) -> None:
        """Make the function registered here as `name` one of tvm-ffi's global functions, for its libraries to call."""
        found = self._functions[name]
        given = found.function if found.is_foreign else found.from_ffi
        ffi.tvm_ffi().register_global_func(name, given, override=override)

    def register(self, name: str, function: Callable[..., object], override: bool = False) -> None:
        """Make `function` callable as `name`; an existing name only with `override`."""
        if name in self._functions and not override:
            raise fail(
                "packed-exists",
                f"a packed function {name!r} is registered already",
                help="pass override=True to replace it",
            )
        self._functions[name] = function if isinstance(function, PackedFunc) else PackedFunc(function, name)

    def get(self, name: str) -> PackedFunc | None:
        """The function called `name`, or None."""
        found = self._functions.get(name)
        if found is None:
            foreign = ffi.tvm_ffi().get_global_func(name, allow_missing=True)
            found = None if foreign is None else PackedFunc(foreign, name)
        return found

    def lookup(self, name: str) -> PackedFunc:
        """The function called `name`; `DiagnosticError` (`packed-missing`) if there is none."""
        found = self.get(name)
        if found is None:
            hint = did_you_mean(name, self._functions, f"register it: baton.register_func({name!r}, function)")
            raise fail("packed-missing", f"there is no packed function {name!r}", help=hint)
        return found

    def remove(self, name: str) -> None:
        """Forget `name`, if it is registered here."""
        self._functions.pop(name, None)

    def names(self) -> list[str]:
        """The names registered here, sorted."""
        return sorted(self._functions)


PROCESS_FUNCTIONS = FunctionTable()
"""The process-wide table behind `register_func` and `get_global_func`. Only users fill it; machines take a table as an
argument and fall back to this one."""
