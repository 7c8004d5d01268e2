"""`relay.debug`: the interpreter shows where it is; compiled code passes the value on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relay


def program(function: Any) -> baton.IRModule:
    """let %y = %x + 1; debug(%y * %x) - 1"""
    x, y = relay.var("x", shape=()), relay.var("y")
    shown = relay.debug(relay.multiply(y, x), function)
    one = relay.const(1.0)
    return baton.IRModule.from_expr(relay.Function([x], relay.Let(y, relay.add(x, one), relay.subtract(shown, one))))


def test_the_function_sees_the_expression_and_the_variables() -> None:
    seen: list[Any] = []
    result = relay.create_executor("debug", program(seen.append)).evaluate()(np.float32(2))
    (state,) = seen
    assert float(result.numpy()) == 5
    assert state.current_expr.op.name == "multiply"
    assert {v.name_hint: float(value.numpy()) for v, value in state.stack[0].items()} == {"x": 2, "y": 3}


@pytest.mark.parametrize("kind", ["graph", "vm"])
def test_compiled_code_passes_the_value_on(kind: str) -> None:
    def refuse(state: Any) -> None:
        raise AssertionError("called")

    assert float(relay.create_executor(kind, program(refuse)).evaluate()(np.float32(2)).numpy()) == 5


def test_a_function_nobody_registered_is_named() -> None:
    x = relay.const(1.0)
    call = relay.Call(relay.op.get("debug"), [x], relay.op.op_attrs.DebugAttrs(debug_func="nowhere"))
    with pytest.raises(baton.error.DiagnosticError, match="'nowhere', which is not registered"):
        relay.create_executor("debug").evaluate(call)


def test_without_a_function_it_is_a_breakpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr("sys.breakpointhook", lambda: calls.append(1))
    relay.create_executor("debug", program(None)).evaluate()(np.float32(2))
    assert calls == [1]
