"""`tvm.relay.loops.while_loop`: a loop as a recursive function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.driver.wiring import wire
from baton._src.relay.nodes import Call, Function, If, Let, Tuple, Var


def while_loop(
    cond: Callable[..., Any], loop_vars: Sequence[Var], loop_bodies: Callable[..., Sequence[Any]]
) -> Function:
    """A function of the loop's variables that gives their values, a tuple, when `cond(*variables)` no longer holds.

    `loop_bodies(*variables)` gives their next values; `loop_vars` say names and types. Calls of the function start it.
    """
    wire()
    params = [Var(v.name_hint, v.type_annotation) for v in loop_vars]
    again = Var("while_loop")
    body = If(cond(*params), Call(again, tuple(loop_bodies(*params))), Tuple(tuple(params)))
    start = [Var(v.name_hint, v.type_annotation) for v in loop_vars]
    return Function(start, Let(again, Function(params, body), Call(again, tuple(start))))
