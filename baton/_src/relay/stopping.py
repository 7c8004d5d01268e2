"""Where the interpreter stops on the way: `relay.debug(expr, function)`.

The function gets an `InterpreterState`; without one, Python's debugger starts, as at a `breakpoint()`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from typing import Any

from baton._src.relay.nodes import Call, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import PROCESS_FUNCTIONS

DEBUGGER = "relay.debug"
"""Python's debugger, unless a function of this name is registered."""

_numbers = count()


@dataclass(frozen=True)
class InterpreterState:
    """How far the interpreter has come."""

    current_expr: Any
    """The expression that was just evaluated."""
    stack: list[dict[Var, Any]]
    """The values of the variables in scope, innermost scope first."""


def registered_as(function: Callable[[InterpreterState], object] | None) -> str:
    """The name by which a call of `debug` finds `function`: attributes are data, so that programs can be printed."""
    if function is None:
        return DEBUGGER
    name = f"debugger_func{next(_numbers)}"
    PROCESS_FUNCTIONS.register(name, function, True)
    return name


def stop_at(call: Call, stack: list[dict[Var, Any]]) -> None:
    """Execute a call of `debug`; `DiagnosticError` (`function-missing`) if its function is not registered."""
    name = getattr(call.attrs, "debug_func", "")
    if not name:
        return
    function = PROCESS_FUNCTIONS.get(name)
    if function is None and name == DEBUGGER:
        sys.breakpointhook()  # noqa: T100  (what the program asks for)
        return
    if function is None:
        help = "register it with tvm.register_func, or give relay.debug the function itself"
        raise fail("function-missing", f"debug calls {name!r}, which is not registered", span=call.span, help=help)
    function.function(InterpreterState(call.args[0], stack))
