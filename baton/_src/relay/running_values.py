"""Values of a running Relay program other than tensors, tuples and data: functions, and the variables of a scope."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from baton._src.relay.nodes import Pattern, PatternConstructor, PatternTuple, PatternVar, Var
from baton._src.relay.scopes import Scopes
from baton._src.support.diagnostics import fail
from baton._src.values.adt import ADT, RefCell
from baton._src.values.tensor import NDArray, array


class Applies(Protocol):
    """The interface of an interpreter for its function values."""

    def apply(self, function: FunctionValue, args: Sequence[Any]) -> Any: ...


class Activation:
    """One run of a scope: the values of its variables and shared nodes."""

    __slots__ = ("depth", "parent", "values")

    def __init__(self, parent: Activation | None, depth: int) -> None:
        self.parent = parent
        self.depth = depth
        self.values: dict[Any, Any] = {}

    def visible(self) -> list[dict[Var, Any]]:
        """The variables that have values, innermost scope first."""
        found = []
        act: Activation | None = self
        while act is not None:
            found.append({key: value for key, value in act.values.items() if isinstance(key, Var)})
            act = act.parent
        return found


class FunctionValue:
    """A closure: a function with the run of the scope it was written in; or an operator or constructor as a value."""

    __slots__ = ("activation", "function", "interpreter", "scopes")

    def __init__(self, interpreter: Applies, function: Any, activation: Activation | None, scopes: Scopes | None):
        self.interpreter = interpreter
        self.function = function
        self.activation = activation
        self.scopes = scopes

    def __call__(self, *args: Any) -> Any:
        return self.interpreter.apply(self, [to_value(a) for a in args])


def bind(pattern: Pattern, value: Any, into: dict[Any, Any]) -> bool:
    """Whether `value` fits `pattern`; its variables get their values."""
    work: list[tuple[Any, Any]] = [(pattern, value)]
    while work:
        found, part = work.pop()
        match found:
            case PatternVar():
                into[found.var] = part
            case PatternConstructor():
                if part.tag != found.constructor.tag:
                    return False
                work.extend(zip(found.patterns, part.fields))
            case PatternTuple():
                work.extend(zip(found.patterns, part))
            case _:
                continue
    return True


def to_value(given: Any) -> Any:
    """What a user passes as a value: arrays and numbers become tensors, lists tuples; values stay as they are. Error
    `value-mismatch`: an integer beyond int32."""
    if isinstance(given, (NDArray, ADT, RefCell, FunctionValue)):
        return given
    if isinstance(given, (tuple, list)):
        return tuple(to_value(item) for item in given)
    if isinstance(given, bool):
        return array(np.asarray(given))
    if isinstance(given, int):
        if not -(2**31) <= given < 2**31:
            help = "give an array of the dtype that is meant: np.int64(...)"
            raise fail("value-mismatch", f"a number of Python is an int32, which {given} does not fit", help=help)
        return array(np.asarray(given, np.int32))
    if isinstance(given, float):
        return array(np.asarray(given, np.float32))
    return array(np.asarray(given))


def brief(value: Any) -> str:
    """A value in a message."""
    text = f"{value.name}(...)" if isinstance(value, ADT) else repr(value)
    return text if len(text) < 80 else text[:77] + "..."
