"""`tvm.relay.loops.while_loop`: a loop as a recursive function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.driver.wiring import wire
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.nodes import Call, Function, If, Let, Tuple, Var


def while_loop(
    cond: Callable[..., Any], loop_vars: Sequence[Any], loop_bodies: Callable[..., Sequence[Any]]
) -> Function:
    """A function of the loop's variables that gives their values, a tuple, when `cond(*variables)` no longer holds.

    `loop_bodies(*variables)` gives their next values; `loop_vars` say names and types: variables, or expressions of
    these types. Calls of the function start it.
    """
    wire()
    kinds = [_kind(number, given) for number, given in enumerate(loop_vars)]
    params = [Var(*kind) for kind in kinds]
    again = Var("while_loop")
    body = If(cond(*params), Call(again, tuple(loop_bodies(*params))), Tuple(tuple(params)))
    start = [Var(*kind) for kind in kinds]
    return Function(start, Let(again, Function(params, body), Call(again, tuple(start))))


def _kind(number: int, given: Any) -> tuple[str, Any]:
    """Name and type of a variable of the loop."""
    if isinstance(given, Var):
        return given.name_hint, given.type_annotation
    return f"arg{number}", infer_expr(given).checked_type
