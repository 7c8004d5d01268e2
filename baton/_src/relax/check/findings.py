"""The result of a check: every violation, in program order, with the function that contains it."""

from __future__ import annotations

from baton._src.support.diagnostics import Diagnostic, Severity
from baton._src.support.spans import Span


class Findings:
    """Collects diagnostics instead of raising the first."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.function = ""
        """The global function being checked, for breadcrumbs."""

    def add(
        self,
        code: str,
        message: str,
        *,
        span: Span | None = None,
        help: str | None = None,
        severity: Severity = Severity.ERROR,
    ) -> None:
        crumbs = (f"in function {self.function}",) if self.function else ()
        self.diagnostics.append(Diagnostic(code, message, span, (), crumbs, help, severity=severity))

    @property
    def has_errors(self) -> bool:
        """Whether any violation is more than a warning."""
        return any(d.severity is Severity.ERROR for d in self.diagnostics)

    def extend(self, found: list[Diagnostic]) -> None:
        crumbs = (f"in function {self.function}",) if self.function else ()
        self.diagnostics.extend(d.within(*crumbs) for d in found)
