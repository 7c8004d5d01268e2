"""`match` over algebraic data types: patterns, clauses, the expression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.ir.types import Constructor
from baton._src.relay.nodes.expressions import Expr, Var, as_expr, expect_variables, init_fields
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span

T = TypeVar("T")


def _each(kind: type[T], parts: Any, what: str) -> tuple[T, ...]:
    """`parts` as a tuple; error `api` unless they are a list of this kind, which `what` names."""
    if not isinstance(parts, Iterable):
        raise fail("api", f"{what} are given as a list, not as a {type(parts).__name__}", help="write [x]")
    found = tuple(parts)
    for one in found:
        if not isinstance(one, kind):
            raise fail("api", f"{what} are {kind.__name__}s, not {type(one).__name__}s")
    return found


@node
class Pattern(Node):
    """The left side of a match clause."""

    span: Span | None = note(kw_only=True, default=None)


@node
class PatternWildcard(Pattern):
    """_"""


@node
class PatternVar(Pattern):
    """%var"""

    var: Var = binder()

    def __init__(self, var: Var, span: Span | None = None) -> None:
        init_field(self, "var", *expect_variables((var,)))
        init_field(self, "span", span)


@node
class PatternConstructor(Pattern):
    """Constructor(patterns)"""

    constructor: Constructor
    patterns: tuple[Pattern, ...] = ()

    def __init__(self, constructor: Constructor, patterns: Any = None, span: Span | None = None) -> None:
        if not isinstance(constructor, Constructor):
            raise fail("api", f"a pattern takes a constructor apart, not a {type(constructor).__name__}")
        init_field(self, "constructor", constructor)
        init_field(self, "patterns", _each(Pattern, patterns or (), "the patterns of a constructor's fields"))
        init_field(self, "span", span)


@node
class PatternTuple(Pattern):
    """(patterns)"""

    patterns: tuple[Pattern, ...]

    def __init__(self, patterns: Any = None, span: Span | None = None) -> None:
        init_field(self, "patterns", _each(Pattern, patterns or (), "the patterns of a tuple's fields"))
        init_field(self, "span", span)


@node
class Clause(Node):
    """lhs => rhs"""

    lhs: Pattern = binder()
    rhs: Any = part(kw_only=True)

    def __init__(self, lhs: Pattern, rhs: Any) -> None:
        init_field(self, "lhs", *_each(Pattern, (lhs,), "the left sides of clauses"))
        init_field(self, "rhs", as_expr(rhs))


@node
class Match(Expr):
    """match (data) { clauses }; `complete` promises that every case is covered."""

    data: Any
    clauses: tuple[Clause, ...]
    complete: bool = True

    def __init__(self, data: Any, clauses: Any, complete: bool = True, span: Span | None = None) -> None:
        found = _each(Clause, clauses, "the clauses of a match")
        init_fields(self, span, data=as_expr(data), clauses=found, complete=complete)
