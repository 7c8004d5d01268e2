"""The exception of tvmc: `TVMCException`, which wraps baton's diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from baton._src.support.diagnostics import Diagnostic, DiagnosticError

P = ParamSpec("P")
R = TypeVar("R")


class TVMCException(DiagnosticError):
    """A model, a package or an option that tvmc cannot take. A text makes one, as in TVM."""

    def __init__(self, *said: str | Diagnostic) -> None:
        super().__init__([Diagnostic("tvmc", part) if isinstance(part, str) else part for part in said])


class TVMCImportError(TVMCException):
    """A package that reading a model needs is not installed."""


def refuse(message: str, help: str | None = None) -> TVMCException:
    """An error with a way out, to be raised."""
    return TVMCException(Diagnostic("tvmc", message, help=help))


def raising_tvmc(function: Callable[P, R]) -> Callable[P, R]:
    """A decorator: what a user did wrong is a `TVMCException`, wherever it was found."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TVMCException:
            raise
        except DiagnosticError as error:
            raise TVMCException(*error.diagnostics) from error

    return call
