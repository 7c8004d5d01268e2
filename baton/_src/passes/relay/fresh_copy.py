"""Copy an expression with new bound variables: every variable may be bound only once in a program."""

from __future__ import annotations

from typing import Any, TypeVar

from baton._src.ir.traverse import substitute
from baton._src.relay.expressions import binders, walk

T = TypeVar("T")


def fresh_copy(expr: T) -> T:
    """`expr` with new variables for all its bindings (type parameters are kept)."""
    renamed: dict[Any, Any] = {}
    for node in walk(expr):
        for var in binders(node):
            renamed[var] = var.copy()
    made: T = substitute(expr, renamed, notes=False)
    return made
