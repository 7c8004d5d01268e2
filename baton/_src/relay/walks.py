"""Scoping of variables: is every use within reach of the one place that defines it?"""

from __future__ import annotations

from typing import Any

from baton._src.relay.expressions import binders, walk
from baton._src.relay.nodes import Function, TempExpr, Var


def scope_errors(root: Any) -> list[str]:
    """What is wrong with the variables of `root`: defined twice, or (in a function) not at all; passes' leftovers."""
    errors: list[str] = []
    defined: dict[Var, Any] = {}
    nodes = walk(root)
    for node in nodes:
        if isinstance(node, TempExpr):
            errors.append(f"a {type(node).__name__} is left over from a pass")
        for var in binders(node):
            if var in defined:
                errors.append(f"%{var.name_hint} is defined twice")
            defined[var] = node
    if isinstance(root, Function):
        errors += [f"%{n.name_hint} is not bound" for n in nodes if isinstance(n, Var) and n not in defined]
    return errors
