"""`match` over algebraic data types: patterns, clauses, the expression."""

from __future__ import annotations

from typing import Any

from baton._src.ir.node import Node, binder, init_field, node, note, part
from baton._src.ir.types import Constructor
from baton._src.relay.nodes.expressions import Expr, Var, as_expr, init_fields
from baton._src.support.spans import Span


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


@node
class PatternConstructor(Pattern):
    """Constructor(patterns)"""

    constructor: Constructor
    patterns: tuple[Pattern, ...] = ()

    def __init__(self, constructor: Constructor, patterns: Any = None, span: Span | None = None) -> None:
        init_field(self, "constructor", constructor)
        init_field(self, "patterns", tuple(patterns or ()))
        init_field(self, "span", span)


@node
class PatternTuple(Pattern):
    """(patterns)"""

    patterns: tuple[Pattern, ...]

    def __init__(self, patterns: Any = None, span: Span | None = None) -> None:
        init_field(self, "patterns", tuple(patterns or ()))
        init_field(self, "span", span)


@node
class Clause(Node):
    """lhs => rhs"""

    lhs: Pattern = binder()
    rhs: Any = part(kw_only=True)

    def __init__(self, lhs: Pattern, rhs: Any) -> None:
        init_field(self, "lhs", lhs)
        init_field(self, "rhs", rhs)


@node
class Match(Expr):
    """match (data) { clauses }; `complete` promises that every case is covered."""

    data: Any
    clauses: tuple[Clause, ...]
    complete: bool = True

    def __init__(self, data: Any, clauses: Any, complete: bool = True, span: Span | None = None) -> None:
        init_fields(self, span, data=as_expr(data), clauses=tuple(clauses), complete=complete)
