"""The interface of the virtual machine for its builtins."""

from __future__ import annotations

from typing import Any, Protocol

from baton._src.values.packed_func import FunctionTable


class Machine(Protocol):
    """The part of `VirtualMachine` that builtins use."""

    functions: FunctionTable
    executable: Any

    def invoke(self, function: int, args: tuple[Any, ...]) -> Any:
        """Run function number `function`."""
        ...

    def function_value(self, function: int) -> Any:
        """Function number `function` as a value: a closure or a packed function."""
        ...
