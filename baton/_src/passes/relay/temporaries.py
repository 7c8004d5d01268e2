"""Rewriting with temporary expressions (`TempExpr`): values in another form than the program says.

A rule may leave a call's value as a temporary (in another layout, without its scale). Rules at the calls that use it
see it as it is, and whatever they leave alone gets it realised, once for all its uses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.nodes import Call, TempExpr

Realized = Callable[[Any], Any]
"""What an expression of the old program has become, no temporary."""
Rule = Callable[[Call, list[Any], Realized], Any]
"""(call of the old program, what its arguments have become, `realized`) -> its new value, or None to leave it alone."""


def rewrite_with_temporaries(function: Any, rule: Rule) -> Any:
    """`function` rewritten bottom-up; the same object if `rule` wants nothing changed."""
    done: dict[Any, Any] = {}
    plain: dict[Any, Any] = {}

    def realized(expr: Any) -> Any:
        found = done.get(expr, expr)
        if isinstance(found, TempExpr):
            if found not in plain:
                plain[found] = found.realize()
            return plain[found]
        return found

    for expr in walk(function):
        made = rule(expr, [done.get(a, a) for a in expr.args], realized) if isinstance(expr, Call) else None
        if made is None:
            made = with_parts(expr, {p: realized(p) for p in parts(expr)})
        if made is not expr:
            done[expr] = made
    return realized(function)
