"""Diagnostics: errors and warnings with a code, the place in the source, and a way to fix them.

A user's mistake is a `Diagnostic` (one record, possibly one of several) and is raised as `DiagnosticError`.
A broken invariant of the compiler itself is an `InternalError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from enum import Enum

from baton._src.support.dataclass import dataclass
from baton._src.support.spans import Span


class Severity(Enum):
    """How bad it is: errors stop the work, warnings and notes do not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message for the user.

    `code` is stable and documented (`relax-shape`, `RELAX-WF-13`, `onnx-unsupported-op`, ...); `span` is the
    primary place; `related` are further places, each with its own remark; `breadcrumbs` say what was being done
    ("while checking binding lv3, in function main"); `help` says how to mend it.
    """

    code: str
    message: str
    span: Span | None = None
    related: tuple[tuple[Span, str], ...] = ()
    breadcrumbs: tuple[str, ...] = ()
    help: str | None = None
    label: str = ""
    """A short remark, printed after the carets."""
    severity: Severity = Severity.ERROR

    def within(self, *breadcrumbs: str) -> Diagnostic:
        """The same diagnostic with outer breadcrumbs added (innermost first)."""
        return replace(self, breadcrumbs=self.breadcrumbs + breadcrumbs)

    def at(self, span: Span | None) -> Diagnostic:
        """The same diagnostic at `span`, if it has no place yet."""
        return self if self.span is not None or span is None else replace(self, span=span)

    def render(self) -> str:
        """The text shown to the user, without colours."""
        lines = [f"{self.severity.value}[{self.code}]: {self.message}"]
        if self.span is not None:
            lines += _render_place(self.span, self.label)
        for span, remark in self.related:
            lines += _render_place(span, remark)
        lines += [f"  {crumb}" for crumb in self.breadcrumbs]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)


def _render_place(span: Span, remark: str) -> list[str]:
    lines = [f"  --> {span}"]
    text = span.source.line(span.line)
    if text is not None:
        stop = span.end_column if span.end_line == span.line else len(text) + 1
        width = max(1, stop - span.column)
        margin = " " * len(str(span.line))
        if not span.column:
            return [*lines, f"{margin} |", f"{span.line} | {text.strip()}", f"{margin} | {remark}".rstrip()]
        lines.append(f"{margin} |")
        lines.append(f"{span.line} | {text}")
        indent = "".join("\t" if c == "\t" else " " for c in text[: span.column - 1])
        lines.append(f"{margin} | {indent}{'^' * width} {remark}".rstrip())
    return lines


class BatonError(RuntimeError):
    """The base of every error that baton raises on purpose (`tvm.TVMError` under the alias)."""


class DiagnosticError(BatonError):
    """A user's program or input is wrong; `diagnostics` has every finding, in order."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        found = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        self.diagnostics: Sequence[Diagnostic] = found
        super().__init__("\n\n".join(d.render() for d in found))

    @property
    def code(self) -> str:
        """The code of the first finding."""
        return self.diagnostics[0].code


class ScheduleError(DiagnosticError):
    """A primitive of a schedule does not apply. `program`, if given, makes the text that shows where."""

    program: Callable[[], str] | None = None

    def __str__(self) -> str:
        said = super().__str__()
        return said if self.program is None else f"{said}\n\n{self.program()}"


class ValueDiagnosticError(DiagnosticError, ValueError):
    """A value that does not fit, where TVM raises a `ValueError`: scripts that catch either are served."""


class MissingFunctionError(DiagnosticError, AttributeError):
    """A function that a module does not have, where TVM raises an `AttributeError`."""


class MissingMethodError(DiagnosticError, NotImplementedError):
    """A method that a subclass has to define, where TVM raises a `NotImplementedError`."""


class TypeDiagnosticError(DiagnosticError, TypeError):
    """An argument of the wrong class, where TVM raises a `TypeError`: scripts that catch either are served."""


class IndexDiagnosticError(DiagnosticError, IndexError):
    """A number of which there is nothing, where TVM raises an `IndexError`: loops over numbers end with it."""


class InternalError(BatonError):
    """A broken invariant of baton itself: never the user's fault; names where it happened."""

    reported = False
    """Whether the message already names the failing pass and the file of its reproducer."""


_CLASSES: dict[type[Exception] | None, type[DiagnosticError]] = {
    None: DiagnosticError,
    ValueError: ValueDiagnosticError,
    TypeError: TypeDiagnosticError,
    NotImplementedError: MissingMethodError,
    AttributeError: MissingFunctionError,
    IndexError: IndexDiagnosticError,
}


def fail(
    code: str,
    message: str,
    *,
    span: Span | None = None,
    help: str | None = None,
    label: str = "",
    kind: type[ValueError | TypeError | NotImplementedError | AttributeError | IndexError] | None = None,
) -> DiagnosticError:
    """A `DiagnosticError` with one finding, to be raised: ``raise fail("relax-shape", "...")``.

    `kind` makes it an error of Python's own too, for functions whose callers catch that.
    """
    return _CLASSES[kind](Diagnostic(code, message, span=span, help=help, label=label))
