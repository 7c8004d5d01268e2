"""`relay.ScopeBuilder`: lets and ifs written in the order they run.

sb = ScopeBuilder()
with sb.if_scope(cond):
    one = sb.let("one", relay.add(x, x))
    sb.ret(one)
with sb.else_scope():
    sb.ret(x)
sb.get()        # if (cond) { let one = x + x; one } else { x }
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.nodes import If, Let, Var, as_expr, variables
from baton._src.support.diagnostics import DiagnosticError, fail


class _Scope:
    """Bindings so far and the value at the end."""

    def __init__(self) -> None:
        self.bindings: list[tuple[Var, Any]] = []
        self.value: Any = None
        self.pending_if: tuple[Any, Any] | None = None
        """The condition and the finished first branch, while `else_scope` is awaited."""

    def expression(self) -> Any:
        if self.value is None:
            raise fail("api", "this scope has no value", help="call ret(value), or close the if with else_scope()")
        result = self.value
        for var, value in reversed(self.bindings):
            result = Let(var, value, result)
        return result


class ScopeBuilder:
    """See the module's docstring. After an if with both branches, `get` (or the enclosing `ret`) gives its value."""

    def __init__(self) -> None:
        self._scopes: list[_Scope] = [_Scope()]

    def let(self, var: Any, value: GraphExpr) -> Var:
        """Bind `value` to a variable: a `Var`, a name, or a pair of name and type (a string: the dtype of a scalar)."""
        scope = self._open()
        if isinstance(var, (tuple, list)):
            if len(var) != 2:
                raise fail("api", "let takes a name, a (name, type) pair or a Var")
            var = variables.var(str(var[0]), var[1])
        elif isinstance(var, str):
            var = Var(var)
        bound = as_expr(value)
        if not isinstance(var, Var) or not isinstance(bound, GraphExpr):
            raise fail("api", f"let binds an expression to a variable, not a {type(value).__name__} to {var!r}")
        scope.bindings.append((var, bound))
        return var

    @contextmanager
    def if_scope(self, cond: Any) -> Iterator[None]:
        """The branch taken when `cond` holds; an `else_scope` must follow."""
        outer = self._open()
        self._scopes.append(_Scope())
        yield
        outer.pending_if = (cond, self._scopes.pop().expression())

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """The other branch; it ends the scope around it, whose value the if is."""
        outer = self._scopes[-1]
        if outer.pending_if is None:
            raise fail("api", "else_scope follows an if_scope")
        cond, chosen = outer.pending_if
        self._scopes.append(_Scope())
        yield
        outer.pending_if = None
        outer.value = If(cond, chosen, self._scopes.pop().expression())

    def ret(self, value: GraphExpr) -> None:
        """The value of the scope."""
        self._open().value = value

    def get(self) -> Any:
        """Everything as one expression."""
        if len(self._scopes) != 1:
            raise fail("api", "get() inside of an if_scope or else_scope", help="call it after them")
        if self._scopes[0].pending_if is not None:
            raise fail("api", "the if_scope has no else_scope", help="every if has two branches")
        return self._scopes[0].expression()

    def type_of(self, expr: Any) -> Any:
        """The type of an expression built so far: a variable's annotation, or what inference finds."""
        if isinstance(expr, Var) and expr.type_annotation is not None:
            return expr.type_annotation
        found = {v: e for scope in self._scopes for v, e in scope.bindings}.get(expr, expr)
        try:
            return infer_expr(found).checked_type
        except DiagnosticError as error:
            message = f"the type of this expression cannot be told: {error}"
            raise fail("relay-infer", message, help="annotate the variables in it") from error

    def _open(self) -> _Scope:
        scope = self._scopes[-1]
        if scope.pending_if is not None:
            raise fail("api", "the if_scope has no else_scope", help="every if has two branches")
        if scope.value is not None:
            raise fail("api", "the scope already has its value", help="nothing can follow ret(...) or a complete if")
        return scope
