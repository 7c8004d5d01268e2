"""What lies directly below a Relay expression, and walks over expressions only: types are left out.

Most passes ask about expressions alone; leaving the types (and their dims) out makes a walk several times shorter than
`ir.traverse`'s general one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Constructor
from baton._src.relay.nodes import (
    Call,
    Clause,
    Constant,
    Function,
    If,
    Let,
    Match,
    Pattern,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)

_NONE: tuple[Any, ...] = ()

_PARTS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Call: lambda n: (n.op, *n.args),
    Tuple: lambda n: n.fields,
    TupleGetItem: lambda n: (n.tuple_value,),
    Let: lambda n: (n.value, n.body),
    If: lambda n: (n.cond, n.true_branch, n.false_branch),
    Function: lambda n: (n.body,),
    Match: lambda n: (n.data, *(c.rhs for c in n.clauses)),
    RefCreate: lambda n: (n.value,),
    RefRead: lambda n: (n.ref,),
    RefWrite: lambda n: (n.ref, n.value),
    Var: lambda n: _NONE,
    Constant: lambda n: _NONE,
    Op: lambda n: _NONE,
    GlobalVar: lambda n: _NONE,
    Constructor: lambda n: _NONE,
}


def parts(expr: Any) -> tuple[Any, ...]:
    """The expressions directly below `expr`, in evaluation order; binders are not parts."""
    found = _PARTS.get(type(expr))
    if found is not None:
        return found(expr)
    if isinstance(expr, TempExpr):
        names = [s.name for s in expr.specs]
        return tuple(v for v in (getattr(expr, n) for n in names) if type(v) in _PARTS)
    return _NONE


def walk(root: Any) -> list[Any]:
    """Every expression of the DAG once, parts before wholes, in evaluation order."""
    return post_order(root, below=parts)


def pattern_vars(pattern: Pattern) -> list[Var]:
    """The variables a pattern binds, left to right."""
    found: list[Var] = []
    work: list[Any] = [pattern]
    while work:
        top = work.pop()
        if isinstance(top, PatternVar):
            found.append(top.var)
        work.extend(reversed(getattr(top, "patterns", ())))
    return found


def binders(expr: Any) -> Iterable[Var]:
    """The variables `expr` itself defines."""
    match expr:
        case Function():
            return expr.params
        case Let():
            return (expr.var,)
        case Match():
            return [v for c in expr.clauses for v in pattern_vars(c.lhs)]
        case _:
            return ()


def global_vars(root: Any) -> list[GlobalVar]:
    """The globals mentioned, each once, in evaluation order."""
    return [e for e in walk(root) if isinstance(e, GlobalVar)]


__all__ = ["Clause", "binders", "global_vars", "parts", "pattern_vars", "walk"]
