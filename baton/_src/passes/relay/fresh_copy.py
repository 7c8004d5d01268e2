"""Copy an expression with new bound variables: every variable may be bound only once in a program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from baton._src.ir.traverse import post_order, substitute
from baton._src.ir.types import Constructor
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


def substitute_in_code(expr: T, replacements: Mapping[Any, Any]) -> T:
    """`substitute` that leaves the constructors of ADTs alone: their definition may be written with the type variables
    of a function, and they are compared by identity.
    """
    constructors = (n for n in post_order(expr, notes=False) if isinstance(n, Constructor))
    made: T = substitute(expr, {**replacements, **{c: c for c in constructors}}, notes=False)
    return made
