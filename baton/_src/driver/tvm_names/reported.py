"""`tvm.ir.diagnostics`: findings about a module, collected in a context and shown by a renderer.

context = DiagnosticContext(module, get_renderer())
context.emit(Diagnostic(DiagnosticLevel.ERROR, span, "..."))
context.render()                       # shows what was found; an error among it is raised

`override_renderer(function)` has the errors of Relay text and TVMScript given to `function(context)` before they are
raised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from baton._src.support import diagnostics
from baton._src.support.diagnostics import DiagnosticError, Severity
from baton._src.support.spans import Span


class DiagnosticLevel(IntEnum):
    """How bad a finding is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class Diagnostic:
    """A finding: its level, its place, what is wrong."""

    def __init__(self, level: int, span: Span | None, message: str) -> None:
        self.level, self.span, self.message = DiagnosticLevel(level), span, message

    @property
    def _plain(self) -> diagnostics.Diagnostic:
        """The finding as baton has it."""
        worst = self.level <= DiagnosticLevel.ERROR
        severity = Severity.ERROR if worst else Severity.WARNING if self.level == DiagnosticLevel.WARNING else None
        return diagnostics.Diagnostic("script", self.message, self.span, severity=severity or Severity.NOTE)


class DiagnosticRenderer:
    """Shows the findings of a context."""

    def __init__(self, render_func: Callable[[DiagnosticContext], object]) -> None:
        self._function = render_func

    def render(self, ctx: DiagnosticContext) -> None:
        """Show them."""
        self._function(ctx)


class DiagnosticContext:
    """Findings about a module, in order."""

    def __init__(self, module: Any, renderer: DiagnosticRenderer | None = None) -> None:
        self.module, self.renderer = module, renderer or get_renderer()
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add a finding."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Show the findings. Raises `DiagnosticError` if an error is among them."""
        self.renderer.render(self)
        errors = [d._plain for d in self.diagnostics if d.level <= DiagnosticLevel.ERROR]
        if errors:
            raise DiagnosticError(errors)


def _to_standard_error(ctx: DiagnosticContext) -> None:
    print("\n\n".join(d._plain.render() for d in ctx.diagnostics), file=sys.stderr)


_TERMINAL = DiagnosticRenderer(_to_standard_error)
_chosen: list[DiagnosticRenderer] = []


def get_renderer() -> DiagnosticRenderer:
    """The renderer that is in use: the script's own, or one that writes to standard error."""
    return _chosen[-1] if _chosen else _TERMINAL


def override_renderer(render_func: Callable[[DiagnosticContext], object] | None) -> None:
    """Use a renderer of the script's own from now on; None: use it no more."""
    _chosen[:] = [] if render_func is None else [DiagnosticRenderer(render_func)]


@contextmanager
def shown() -> Iterator[None]:
    """Errors of the block are given to the script's renderer, if it has set one, and raised."""
    try:
        yield
    except DiagnosticError as error:
        if _chosen:
            context = DiagnosticContext(None, _chosen[-1])
            context.diagnostics = [Diagnostic(DiagnosticLevel.ERROR, d.span, d.message) for d in error.diagnostics]
            context.renderer.render(context)
        raise
