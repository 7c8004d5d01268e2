"""How the checker reports: certain violations raise; possible ones are warnings, or errors if `strict`.

Codes: `relax-struct-info` (StructInfo), `relax-purity` (an impure call where none may be), `RELAX-WF-n` and
`RELAX-NF-n` (well-formedness and normal form), `relax-api` (wrong use of the Python interface).
"""

from __future__ import annotations

from dataclasses import field, replace

from baton._src.relax.check.dims import Answer
from baton._src.relax.struct_info import ObjectStructInfo, StructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, Severity, fail
from baton._src.support.spans import Span

STRUCT_INFO = "relax-struct-info"
PURITY = "relax-purity"
API = "relax-api"

CAST_HELP = "insert R.match_cast to check it at run time, or make the struct info more precise"


class StructInfoWarning(UserWarning):
    """Something about a Relax program that cannot be decided when compiling and is checked at run time."""


@dataclass
class Report:
    """Collects warnings. `strict`: what cannot be decided is an error (contradictions A-11)."""

    strict: bool = False
    warnings: list[Diagnostic] = field(default_factory=list)

    def answer(
        self,
        answer: Answer,
        message: str,
        *,
        code: str = STRUCT_INFO,
        span: Span | None = None,
        help: str | None = None,
    ) -> None:
        """Nothing for YES, a warning (or error) for MAYBE, an error that ends with `help` for NO."""
        if answer is Answer.YES:
            return
        if answer is Answer.NO:
            raise fail(code, message, span=span, help=help)
        self.undecided(message, code=code, span=span)

    def undecided(self, message: str, *, code: str = STRUCT_INFO, span: Span | None = None) -> None:
        """A warning that `message` may apply; an error when strict."""
        text = f"it cannot be ruled out at compile time that {message}"
        found = Diagnostic(code, text, span=span, help=CAST_HELP, severity=Severity.WARNING)
        if self.strict:
            raise DiagnosticError(replace(found, severity=Severity.ERROR))
        self.warnings.append(found)

    def warn(self, message: str, *, code: str = STRUCT_INFO, span: Span | None = None) -> None:
        """A remark that is never an error."""
        self.warnings.append(Diagnostic(code, message, span=span, severity=Severity.WARNING))


def unless_object(info: StructInfo, help: str) -> str:
    """What to do about a value of the wrong `info`: an object may be the right one all the same."""
    return "R.match_cast checks at run time what an object is" if isinstance(info, ObjectStructInfo) else help


def described(info: StructInfo | None) -> str:
    """A StructInfo in a message."""
    return "an unknown value" if info is None else repr(info)
