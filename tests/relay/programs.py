"""Short ways to read and run Relay programs in tests."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.check.show import show_type
from baton._src.relay.expressions import walk
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Call
from baton._src.relay.text.parser import parse, parse_expr
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.adt import ADT
from baton._src.values.tensor import NDArray

wire()

NAT = """
data Nat {
  Z : () -> Nat # zero
  S : (Nat) -> Nat # successor (+1) to a nat
}
"""


def read(text: str, module: IRModule | None = None) -> Any:
    """An expression, its warnings ignored."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse_expr(text, CATALOGUE, module=module)


def read_module(text: str) -> IRModule:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parse(text, CATALOGUE)


def type_of(text: str, module: IRModule | None = None) -> str:
    """The inferred type of an expression, as text."""
    return show_type(read(text, module).checked_type)


def run(text: str, *args: Any, module: IRModule | None = None) -> Any:
    """The value of an expression (called with `args`, if given) as plain Python data."""
    found = Interpreter(module).evaluate(read(text, module))
    return plain(found(*args) if args else found)


def plain(value: Any) -> Any:
    """Arrays as numbers or lists, ADTs as nested tuples headed by the constructor's name."""
    if isinstance(value, NDArray):
        return value.data.tolist()
    if isinstance(value, ADT):
        return (value.name, *(plain(f) for f in value.fields))
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    return value


def same(left: Any, right: Any) -> bool:
    """Whether plain data is the same, numbers but for rounding."""
    if isinstance(left, (tuple, list)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right))
    if isinstance(left, float):
        return bool(np.isclose(left, right, rtol=1e-5, atol=1e-5, equal_nan=True))
    return bool(left == right)


def names(module: IRModule) -> list[str]:
    """The operators called in main, in order."""
    return [n.op.name for n in walk(module["main"]) if isinstance(n, Call) and hasattr(n.op, "name")]


def error_of(action: Any) -> DiagnosticError:
    """The DiagnosticError that `action()` raises."""
    try:
        action()
    except DiagnosticError as error:
        return error
    raise AssertionError("nothing was raised")


def full(value: float, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    return np.full(shape, value, dtype).tolist()
