"""Errors about values at run time: the description of a value, and what was expected instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values import ffi
from baton._src.values.adt import ADT, RefCell
from baton._src.values.closure import Closure
from baton._src.values.dtype import DataType
from baton._src.values.packed_func import PackedFunc
from baton._src.values.prim import prim_dtype
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray


def describe(value: Any) -> str:
    """A description of a value for error messages: `a tensor of shape (2, 3) and dtype float32`."""
    if isinstance(value, NDArray):
        return f"a tensor of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, ShapeTuple):
        return f"the shape {tuple(value)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)} values"
    if value is None:
        return "the null value"
    kind = prim_dtype(value)
    if kind is not None:
        return f"the prim value {value!r} of dtype {kind}"
    if isinstance(value, DataType):
        return f"the data type {value}"
    if isinstance(value, str):
        return f"the string {value!r}"
    if isinstance(value, Closure):
        return f"the closure {value.name}"
    if isinstance(value, ADT):
        return f"a value of constructor {value.name or value.tag}"
    if isinstance(value, RefCell):
        return "a reference"
    if is_packed(value):
        return f"the packed function {getattr(value, 'name', '')}".rstrip()
    return f"an object of class {type(value).__name__}"


def is_packed(value: Any) -> bool:
    """Whether it is a packed function: registered, foreign, or any other callable of the host."""
    return (
        isinstance(value, PackedFunc) or ffi.is_function(value) or (callable(value) and not isinstance(value, Closure))
    )


def refusal(reason: str) -> str:
    """The message of a run that reaches what could not be compiled."""
    return f"this part of the model cannot be run: {reason}"


def mismatch(place: str, expected: str, found: str, kind: type[TypeError | ValueError] = TypeError) -> DiagnosticError:
    """The error of a value of the wrong category; with kind `ValueError`, as in TVM's machines, of one with the wrong
    rank, dtype or length. (Sizes that differ are neither.)
    """
    return fail("value-mismatch", f"{place}: expected {expected}, found {found}", kind=kind)


_BOUND = ", or bind it when building: params={name: array}"


def argument_count(function: str, expected: int, given: int, names: Sequence[str] = (), hint: str = _BOUND) -> NoReturn:
    """The error of a call with a wrong number of arguments; `hint` follows the help to give those that are missing."""
    listed = f": {', '.join(names)}" if names else ""
    plural = "" if expected == 1 else "s"
    missing = ", ".join(names[given:])
    help = f"give {missing} too{hint}" if missing else None
    message = f"{function} takes {expected} argument{plural}{listed}; {given} given"
    raise fail("argument-count", message, help=help, kind=ValueError)
