"""The direct subexpressions of a Relay expression, and traversals of expressions only, without types.

Most passes need only expressions; omitting types (and their dims) makes a traversal several times shorter than the
general one of `ir.traverse`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.traverse import post_order, rebuild
from baton._src.ir.types import Constructor
from baton._src.relay.nodes import (
    Call,
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


def count_uses(order: Iterable[Any]) -> dict[Any, int]:
    """How many times each expression is a part of one of these."""
    return Counter(part for expr in order for part in parts(expr))


def inside_primitives(order: Iterable[Any]) -> set[Any]:
    """The expressions inside functions marked `Primitive` among `order`, a walk."""
    bodies = (n.body for n in order if isinstance(n, Function) and n.attrs.get("Primitive"))
    return {inner for body in bodies for inner in walk(body)}


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


def binders(expr: GraphExpr) -> Iterable[Var]:
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


def global_vars(root: GraphExpr) -> list[GlobalVar]:
    """The globals mentioned, each once, in evaluation order."""
    return [e for e in walk(root) if isinstance(e, GlobalVar)]


def with_values(root: GraphExpr, order: Iterable[Any], values: Mapping[Var, Any]) -> Any:
    """`root` without the lets of these variables, which are replaced by their values. `order` is `walk(root)`."""
    done: dict[Any, Any] = {}
    for node in order if values else ():  # a let's value comes before its body, so before every use of the variable
        if node in values:
            done[node] = done.get(values[node], values[node])
        elif isinstance(node, Let) and node.var in values:
            done[node] = done.get(node.body, node.body)
        else:
            made = with_parts(node, done)
            if made is not node:
                done[node] = made
    return done.get(root, root)


def with_parts(expr: GraphExpr, done: Mapping[Any, Any]) -> Any:
    """`expr` with its direct subexpressions replaced by those in `done`; itself if none changes. Notes are kept."""
    match expr:
        case Call():
            return expr.with_fields(op=done.get(expr.op, expr.op), args=_each(expr.args, done))
        case Tuple():
            return expr.with_fields(fields=_each(expr.fields, done))
        case TupleGetItem():
            return expr.with_fields(tuple_value=done.get(expr.tuple_value, expr.tuple_value))
        case Let():
            return expr.with_fields(value=done.get(expr.value, expr.value), body=done.get(expr.body, expr.body))
        case If():
            branches = (done.get(b, b) for b in (expr.true_branch, expr.false_branch))
            chosen, other = branches
            return expr.with_fields(cond=done.get(expr.cond, expr.cond), true_branch=chosen, false_branch=other)
        case Function():
            return expr.with_fields(body=done.get(expr.body, expr.body))
        case Match():
            clauses = tuple(c.with_fields(rhs=done.get(c.rhs, c.rhs)) for c in expr.clauses)
            same = all(a is b for a, b in zip(clauses, expr.clauses))
            data = done.get(expr.data, expr.data)
            return expr.with_fields(data=data, clauses=expr.clauses if same else clauses)
        case RefCreate():
            return expr.with_fields(value=done.get(expr.value, expr.value))
        case RefRead():
            return expr.with_fields(ref=done.get(expr.ref, expr.ref))
        case RefWrite():
            return expr.with_fields(ref=done.get(expr.ref, expr.ref), value=done.get(expr.value, expr.value))
        case TempExpr():
            return rebuild(expr, done)
        case _:
            return expr


def _each(exprs: tuple[Any, ...], done: Mapping[Any, Any]) -> tuple[Any, ...]:
    made = tuple(done.get(e, e) for e in exprs)
    return exprs if all(a is b for a, b in zip(made, exprs)) else made


def rewrite(root: GraphExpr, rule: Callable[[Any, Any], Any]) -> Any:
    """Rewrite expressions bottom-up, each node of the DAG once: `rule(old, new)` sees a node before and after its parts
    were rewritten and gives a replacement, or None to keep `new`. What does not change stays the same object."""
    done: dict[Any, Any] = {}
    for node in walk(root):
        made = with_parts(node, done) if done else node
        found = rule(node, made)
        if found is None:
            found = made
        if found is not node:
            done[node] = found
    return done.get(root, root)


def replace(root: GraphExpr, replacements: Mapping[Any, Any]) -> Any:
    """`root` with the expressions in `replacements` (compared by identity) replaced; replacements are not entered."""
    if not replacements:
        return root
    done: dict[Any, Any] = dict(replacements)
    for node in post_order(root, below=lambda n: () if n in replacements else parts(n)):
        if node not in replacements:
            made = with_parts(node, done)
            if made is not node:
                done[node] = made
    return done.get(root, root)
