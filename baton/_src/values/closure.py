"""`Closure`: a function of a virtual machine with the values it captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Closure:
    """`function` names the code; `captured` are the values it carries (a machine passes them as its *trailing*
    arguments). Calling it runs the code in its machine.

    `info` is the run-time structural information (what the function's parameters, result and purity are), or None.
    `host` is what its machine calls for it, if that is a kernel: for callers with values that need no conversion.
    """

    __slots__ = ("captured", "function", "host", "info", "invoke", "name")

    def __init__(
        self,
        name: str,
        function: Any,
        captured: tuple[object, ...],
        invoke: Callable[..., Any],
        info: object = None,
        host: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self.captured = captured
        self.invoke = invoke
        self.info = info
        self.host = host

    def __call__(self, *args: object) -> Any:
        return self.invoke(self, args)

    def __repr__(self) -> str:
        return f"<Closure {self.name} with {len(self.captured)} captured values>"
