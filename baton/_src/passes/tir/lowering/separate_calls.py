"""Calls that may have effects run as often as they are written.

y = T.call_packed("my.count")
B[0] = y + y + A[0] * A[0]          one node `y`, one node `A[0]`, each used twice    ->    as many nodes as uses

Code generation computes a node once within a statement. Shared ones stay, but for those that such a call is in, or that
it may have changed in between: what reads memory, and everything computed from it.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rebuild, rewrite, substitute
from baton._src.support.trampoline import Task, run
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import Effect, is_pure_call


def separate_calls(body: st.Stmt) -> st.Stmt:
    """`body` with a node for each use of what calls with effects are in, or may change, in expressions."""
    order = post_order(body)
    if not any(_acts(node) for node in order):
        return body
    acting = _with(order, _acts)
    unstable = acting | _with(order, lambda n: isinstance(n, tir.BufferLoad | tir.Call) and not _is_pure(n))

    def rule(node: Node) -> Any:
        if isinstance(node, st.Stmt) and not acting.isdisjoint(children(node)):
            return run(_copy(node, unstable))
        return None

    found: st.Stmt = rewrite(body, rule)
    return found


def _acts(node: Node) -> bool:
    """Whether it is a call that may change something."""
    return isinstance(node, tir.Call) and not is_pure_call(node, Effect.READ)


def _with(order: list[Any], holds: Any) -> set[Any]:
    """The expressions among nodes, children first, for which it holds or that have such a one below them."""
    found: set[Any] = set()
    for node in order:
        if isinstance(node, PrimExpr) and (holds(node) or not found.isdisjoint(children(node))):
            found.add(node)
    return found


def _is_pure(node: Node) -> bool:
    return isinstance(node, tir.Call) and is_pure_call(node)


class _Uses(dict[Any, list[Any]]):
    """The copies of operands, one for each use, given out in the order of uses."""

    def get(self, operand: Any, default: Any = None) -> Any:
        copies = super().get(operand)
        return copies.pop(0) if copies else default


def _copy(node: Node, unstable: set[Any]) -> Task[Any]:
    """`node` with a new node for each use of an unstable operand, and theirs."""
    uses = _Uses()
    for operand in children(node):
        if operand in unstable:
            uses.setdefault(operand, []).append((yield _copy(operand, unstable)))
    copy = rebuild(node, uses) if uses else node.copy()
    if isinstance(copy, tir.Let):  # a variable of its own: what is computed with the other's value is another node
        var = copy.var.copy()
        return copy.with_fields(var=var, body=substitute(copy.body, {copy.var: var}))
    return copy
