"""Rewriting with temporary expressions (`TempExpr`): values in another form than in the program.

A rule may leave a call's value as a temporary (in another layout, without its scale). Rules at the calls that use it
see the temporary; all other uses get it realised, once for all of them. `TemporaryTuple` propagates temporaries through
tuples and projections, for rules that support that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.node import node
from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.nodes import Call, Function, TempExpr, Tuple, TupleGetItem

Realized = Callable[[Any], Any]
"""The translation of an expression of the old program, not as a temporary."""
Rule = Callable[[Call, list[Any], Realized], Any]
"""(call of the old program, its translated arguments, `realized`) -> its new value, or None to leave it unchanged."""


@node
class TemporaryTuple(TempExpr):
    """A tuple of which some fields are temporaries."""

    fields: tuple[Any, ...]

    def realize(self) -> Any:
        return Tuple(tuple(f.realize() if isinstance(f, TempExpr) else f for f in self.fields))


def through_tuples(expr: Any, done: dict[Any, Any]) -> Any:
    """A tuple with temporaries as fields, or the field of one; None for everything else."""
    if isinstance(expr, Tuple):
        fields = tuple(done.get(f, f) for f in expr.fields)
        return TemporaryTuple(fields) if any(isinstance(f, TempExpr) for f in fields) else None
    source = done.get(expr.tuple_value) if isinstance(expr, TupleGetItem) else None
    return source.fields[expr.index] if isinstance(source, TemporaryTuple) else None


def rewrite_with_temporaries(function: Function, rule: Rule, tuples: bool = False) -> Any:
    """Rewrite `function` bottom-up; the same object if `rule` changes nothing. With `tuples`, temporaries propagate
    through tuples and projections.
    """
    done: dict[Any, Any] = {}
    plain: dict[Any, Any] = {}

    def settled(found: Any) -> Any:
        if not isinstance(found, TempExpr):
            return found
        if found not in plain:
            fields = found.fields if isinstance(found, TemporaryTuple) else None
            plain[found] = found.realize() if fields is None else Tuple(tuple(map(settled, fields)))
        return plain[found]

    def realized(expr: GraphExpr) -> Any:
        return settled(done.get(expr, expr))

    for expr in walk(function):
        if isinstance(expr, Call):
            made = rule(expr, [done.get(a, a) for a in expr.args], realized)
        else:
            made = through_tuples(expr, done) if tuples else None
        if made is None:
            made = with_parts(expr, {p: realized(p) for p in parts(expr)})
        if made is not expr:
            done[expr] = made
    return realized(function)
