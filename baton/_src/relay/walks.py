"""Scoping of variables: is every one defined in one place?"""

from __future__ import annotations

from typing import Any

from baton._src.relay.expressions import binders, walk
from baton._src.relay.nodes import TempExpr, Var


def scope_errors(root: Any) -> list[str]:
    """What is wrong with the variables of `root`: defined twice; and passes' leftovers.

    Variables that nothing defines are no fault, as in TVM: parts of programs have such, functions' parts too.
    """
    errors: list[str] = []
    defined: dict[Var, Any] = {}
    for node in walk(root):
        if isinstance(node, TempExpr):
            errors.append(f"a {type(node).__name__} is left over from a pass")
        for var in binders(node):
            if var in defined:
                errors.append(f"%{var.name_hint} is defined twice")
            defined[var] = node
    return errors
