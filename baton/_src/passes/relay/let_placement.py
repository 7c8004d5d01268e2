"""Bind chosen nodes of a graph by lets, each in the scope in which it is evaluated and before its first use there.

Used by ToBasicBlockNormalForm and ToANormalForm, which differ only in which nodes they bind. Existing lets keep their
place and their variable. Nested scopes are separate tasks; each scope is one traversal with its own stack.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.node import set_note
from baton._src.ir.types import Constructor
from baton._src.relay.expressions import with_parts
from baton._src.relay.nodes import Constant, Function, If, Let, Match, Var
from baton._src.relay.scopes import Scopes
from baton._src.support.trampoline import Task, run

Lets = list[tuple[Var, Any]]
_ATOMS = (Var, Constant, GlobalVar, Op, Constructor)
"""Nodes that are never bound: a variable bound in one scope would not be visible in another."""


class LetPlacement:
    """Rewrites one function; `wants_let(node)` says which nodes are bound. Functions marked `Primitive` are unchanged
    unless `inside_kernels`: each is one kernel, without an evaluation order inside.
    """

    def __init__(self, scopes: Scopes, wants_let: Callable[[Any], bool], inside_kernels: bool = True) -> None:
        self._scopes = scopes
        self._wants_let = wants_let
        self._inside_kernels = inside_kernels
        self._done: dict[Any, Any] = {}
        self._count = 0

    def function(self, function: Function) -> Function:
        body = run(self._scope(function.body))
        return function.with_fields(body=body)

    def expression(self, expr: GraphExpr) -> Any:
        return run(self._scope(expr))

    def _scope(self, root: GraphExpr) -> Task[Any]:
        """The expression of a scope: its lets, then its value."""
        lets: Lets = []
        value = yield self._value(root, lets)
        for var, bound in reversed(lets):
            made = Let(var, bound, value)
            set_note(made, "checked_type_", value.checked_type_)
            value = made
        return value

    def _value(self, root: GraphExpr, lets: Lets) -> Task[Any]:
        done = self._done
        stack: list[tuple[str, Any]] = [("visit", root)]
        while stack:
            action, node = stack.pop()
            if action == "visit":
                if node in done:
                    continue
                if isinstance(node, Let):
                    stack += [("bind", node), ("value", node.value)]
                else:
                    stack.append(("finish", node))
                    stack.extend(("visit", p) for p in reversed(self._scopes.evaluated_before(node)))
            elif action == "value":  # a let's own value is bound by that let, not by another
                if node in done or isinstance(node, Let):
                    stack.append(("visit", node))
                else:
                    stack.append(("rebuild", node))
                    stack.extend(("visit", p) for p in reversed(self._scopes.evaluated_before(node)))
            elif action == "bind":
                made = done[node.value]
                lets.append((node.var, made))
                if not isinstance(made, _ATOMS) and self._names_for_all(node):
                    done[node.value] = node.var
                stack += [("alias", node), ("visit", node.body)]
            elif action == "alias":
                done[node] = done[node.body]
            elif node not in done:
                made = yield self._rebuild(node)
                if action == "finish" and self._wants_let(node):
                    made = self._bound(made, node, lets)
                done[node] = made
        return done[root]

    def _names_for_all(self, let: Let) -> bool:
        """Whether the let's variable stands for its value wherever else that is used: not where the value belongs to
        a scope around the let's, which does not see the variable."""
        scopes = self._scopes
        return scopes.shared(let.value) and scopes.of[let.value] is scopes.of[let]

    def _bound(self, made: Any, node: Any, lets: Lets) -> Var:
        self._count += 1
        var = Var(f"v{self._count}")
        set_note(var, "checked_type_", node.checked_type_)
        lets.append((var, made))
        return var

    def _rebuild(self, node: Any) -> Task[Any]:
        done = self._done
        match node:
            case If():
                chosen = yield self._scope(node.true_branch)
                other = yield self._scope(node.false_branch)
                return node.with_fields(cond=done[node.cond], true_branch=chosen, false_branch=other)
            case Match():
                clauses = []
                for clause in node.clauses:
                    clauses.append(clause.with_fields(rhs=(yield self._scope(clause.rhs))))
                return node.with_fields(data=done[node.data], clauses=tuple(clauses))
            case Function() if not self._inside_kernels and node.attrs.get("Primitive"):
                return node
            case Function():
                return node.with_fields(body=(yield self._scope(node.body)))
            case _:
                return with_parts(node, done)
