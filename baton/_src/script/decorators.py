"""`@I.ir_module`, `@R.function`, `@R.macro`, `@T.prim_func` on Python classes and functions.

A decorated function inside a decorated class is left unchanged: the class's own decorator reads the whole class.
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import FrameType, FunctionType
from typing import Any

from baton._src.script.entrance import read_object
from baton._src.script.options import Decorator, Options

_THIS = (__file__, Decorator.__call__.__code__.co_filename)


def _apply(subject: Any, options: Options) -> Any:
    if not inspect.isclass(subject) and _is_in_class(subject):
        return subject
    frame = _user_frame()
    found = read_object(subject, options, _captured(subject), frame.f_lineno if frame is not None else None)
    return found


def _is_in_class(function: Any) -> bool:
    """Whether the function is defined in a class that has a decorator (or whose source is not available)."""
    outer = getattr(function, "__qualname__", "").rpartition(".")[0]
    if not outer or outer.endswith("<locals>"):
        return False
    body = _user_frame()
    if body is None or body.f_code.co_name != outer.rpartition(".")[2]:
        return True
    first = linecache.getline(body.f_code.co_filename, body.f_code.co_firstlineno, body.f_globals).lstrip()
    return not first.startswith("class")


def _user_frame() -> FrameType | None:
    """The frame of the decorator's user."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_filename in _THIS:
        frame = frame.f_back
    return frame


def _captured(subject: Any) -> dict[str, Any]:
    """The Python variables visible to a definition: its module's, those of the enclosing functions, its closure."""
    frame = _user_frame()
    found: dict[str, Any] = {}
    if frame is not None:
        found.update(frame.f_globals)
        chain: list[FrameType] = []
        outer: FrameType | None = frame
        while outer is not None and outer.f_globals is frame.f_globals:
            chain.append(outer)
            outer = outer.f_back
        for part in reversed(chain):
            found.update(part.f_locals)
    functions = vars(subject).values() if inspect.isclass(subject) else [subject]
    for function in functions:
        if inspect.isfunction(function):
            found.update(_closed_over(function))
    return found


def _closed_over(function: FunctionType) -> dict[str, Any]:
    """The variables of a function's closure that are set: the name of a local class is unset until the class is
    complete.
    """
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with suppress(ValueError):  # the cell is empty
            found[name] = cell.cell_contents
    return found


def on_module(name: str, finish: Callable[[Any], Any]) -> Decorator:
    """A decorator that reads a class as a module and returns `finish(module)`."""

    def apply(subject: Any, options: Options) -> Any:
        return finish(_apply(subject, replace(options, decorator=IR_MODULE)))

    return Decorator(name, ("check_well_formed",), apply)


FUNCTION = Decorator("R.function", ("pure", "private", "check_well_formed"), _apply)
MACRO = Decorator("R.macro", ("hygienic",), _apply)
TIR_MACRO = Decorator("T.macro", ("hygienic",), _apply)
PRIM_FUNC = Decorator("T.prim_func", ("private", "check_well_formed"), _apply)
IR_MODULE = Decorator("I.ir_module", ("check_well_formed",), _apply)
