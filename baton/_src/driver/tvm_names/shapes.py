"""`topi.utils`: dims as numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm


def get_const_int(expr: Any) -> int:
    """A dim as a number; `DiagnosticError` (`dim-unknown`) if it depends on a variable."""
    found = Analyzer().simplify(expr) if not isinstance(expr, (int, IntImm)) else expr
    if isinstance(found, int):
        return found
    if isinstance(found, IntImm):
        return found.value
    raise fail("dim-unknown", f"{expr!r} is no number known when compiling")


def get_const_tuple(in_tuple: Iterable[Any]) -> tuple[Any, ...]:
    """A shape with numbers where they are known; other dims as they are."""
    simplify = Analyzer().simplify
    found = (d if isinstance(d, int) else simplify(d) for d in in_tuple)
    return tuple(d.value if isinstance(d, IntImm) else d for d in found)


def prod(x: Iterable[Any]) -> Any:
    """The product of dims."""
    found: Any = 1
    for dim in x:
        found = found * dim
    return found
