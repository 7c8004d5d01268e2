"""Scoping of variables: where is each one bound and used, and is every one bound in one place?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.relay.expressions import parts, pattern_vars
from baton._src.relay.nodes import Function, Let, Match, TempExpr, Var


class Step(Enum):
    """What happens to a node on the way through a program: `BIND` and `LEAVE` happen to variables."""

    BIND = auto()
    VISIT = auto()
    LEAVE = auto()


def steps(root: GraphExpr) -> Iterator[tuple[Step, Any]]:
    """The way through `root` in evaluation order, binders before what they bind in.

    Variables are visited at every use, other expressions once, and before their parts.
    """
    seen: set[Any] = set()
    work: list[tuple[Step, Any]] = [(Step.VISIT, root)]
    while work:
        step, node = work.pop()
        if step is Step.VISIT and not isinstance(node, Var):
            if node in seen:
                continue
            seen.add(node)
            work.extend(reversed(list(_below(node))))
        yield step, node


def _below(node: GraphExpr) -> Iterator[tuple[Step, Any]]:
    match node:
        case Function():
            yield from _scope(node.params, node.body)
        case Let():
            yield from _scope((node.var,), node.value, node.body)
        case Match():
            yield Step.VISIT, node.data
            for clause in node.clauses:
                yield from _scope(pattern_vars(clause.lhs), clause.rhs)
        case _:
            yield from _scope((), *parts(node))


def _scope(bound: Iterable[Var], *inside: Any) -> Iterator[tuple[Step, Any]]:
    for step, nodes in ((Step.BIND, bound), (Step.VISIT, inside), (Step.LEAVE, bound)):
        for node in nodes:
            yield step, node


def scope_errors(root: GraphExpr) -> list[str]:
    """What is wrong with the variables of `root`: bound twice, used outside their scope; and passes' leftovers.

    Variables that nothing binds are no fault, as in TVM: parts of programs have such, functions' parts too.
    """
    errors: list[str] = []
    bound: set[Var] = set()
    in_scope: set[Var] = set()
    free: set[Var] = set()
    for step, node in steps(root):
        if step is Step.BIND:
            if node in bound:
                errors.append(f"%{node.name_hint} is defined twice")
            if node in free:
                errors.append(f"%{node.name_hint} is used before its definition")
            bound.add(node)
            in_scope.add(node)
        elif step is Step.LEAVE:
            in_scope.discard(node)
        elif isinstance(node, TempExpr):
            errors.append(f"a {type(node).__name__} is left over from a pass")
        elif isinstance(node, Var) and node not in in_scope:
            if node in bound:
                errors.append(f"%{node.name_hint} is used outside the scope of its definition")
            free.add(node)
    return errors
