"""Passes made of users' functions and classes: `@module_pass`, and the machinery of each language's `@function_pass`.

@module_pass(opt_level=1)
def rename(module, ctx): ...

@module_pass(opt_level=1)
class Rename:
    def __init__(self, prefix): ...
    def transform_module(self, module, ctx): ...
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext, PassInfo
from baton._src.transform.passes import FunctionPass, Pass

Method = Callable[..., Any]


def module_pass(
    pass_func: Any = None,
    opt_level: int | None = None,
    name: str | None = None,
    required: Sequence[str] | None = None,
    traceable: bool = False,
) -> Any:
    """Make a function `(module, ctx) -> module`, or a class with `transform_module`, a pass."""
    return make_decorator(UserModulePass, "transform_module", pass_func, opt_level, name, required, traceable)


def make_decorator(
    kind: Callable[[PassInfo, Method], Pass],
    method: str,
    pass_func: Any,
    opt_level: int | None,
    name: str | None,
    required: Sequence[str] | None,
    traceable: bool,
) -> Any:
    """A pass by `kind(info, function)`: directly if `pass_func` is given, else a decorator.

    Decorating a class gives a class whose instances are passes; it must have the method `method`.
    """
    if opt_level is None:
        raise fail("api", "a pass needs an opt_level", help="e.g. @module_pass(opt_level=1)", kind=ValueError)

    if not isinstance(required or (), (list, tuple)):
        raise fail("api", f"required must be a list of passes, got a {type(required).__name__}", kind=TypeError)

    def decorate(target: Any) -> Any:
        if not callable(target):
            raise fail(
                "api", f"a pass is made from a function or a class, got a {type(target).__name__}", kind=TypeError
            )
        info = PassInfo(opt_level, name or target.__name__, tuple(required or ()), traceable)
        if not inspect.isclass(target):
            return kind(info, target)
        if not callable(getattr(target, method, None)):
            raise fail("api", f"the pass class {target.__name__} needs a method {method}(self, ..., ctx)")
        return _pass_class(kind, method, info, target)

    return decorate if pass_func is None else decorate(pass_func)


def _pass_class(kind: Any, method: str, info: PassInfo, target: type) -> type:
    """The class whose instances are passes: each wraps an instance of `target` and exposes its attributes."""

    class Made(kind):  # type: ignore[misc]  # the base is a value: a pass of modules or of functions
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self._instance = target(*args, **kwargs)
            super().__init__(info, getattr(self._instance, method))

        def __getattr__(self, name: str) -> Any:
            if name == "_instance":
                raise AttributeError(name)
            return getattr(self._instance, name)

    functools.update_wrapper(Made, target, updated=())
    return Made


class _UserPass(Pass):
    """The base of users' passes: their info belongs to the instance, not to the class."""

    guarded = False

    def __init__(self, info: PassInfo, function: Method) -> None:
        self._info, self._function = info, function

    @property
    def name(self) -> str:
        return self._info.name

    @property
    def info(self) -> PassInfo:
        return self._info

    @property
    def required(self) -> tuple[str, ...]:  # type: ignore[override]  # each has its own, not its class
        return self._info.required

    def __repr__(self) -> str:
        return f"{self._info.name}()"


class UserModulePass(_UserPass):
    """A user's `(module, ctx) -> module`."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        found: IRModule = self._function(module, ctx)
        return found


class UserFunctionPass(_UserPass, FunctionPass):
    """A user's `(function, module, ctx) -> function`; each language has a subclass with its `function_class`."""

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        return self._function(function, module, ctx)

    run = FunctionPass.run
