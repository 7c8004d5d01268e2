"""`relay.ExprFunctor`, `ExprVisitor`, `ExprMutator`: base classes of users' analyses and rewrites (`visit_call`, ...).

    class Rename(ExprMutator):
        def visit_var(self, var):
            return Var(var.name_hint + "_")

    Rename().visit(expr)

Methods carry TVM's names; each node of the DAG is visited once. Users' methods call one another, so the walk is
recursive by nature: `visit` measures the graph first and allows as many Python frames as it needs. (The compiler's
own passes use `expressions.rewrite`, which needs no stack.)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.types import Constructor
from baton._src.relay.check.shared_nodes import untyped
from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.nodes import (
    Call,
    Clause,
    Constant,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.support.diagnostics import fail

METHODS: dict[type, str] = {
    Function: "visit_function",
    Call: "visit_call",
    Let: "visit_let",
    Var: "visit_var",
    GlobalVar: "visit_global_var",
    If: "visit_if",
    Tuple: "visit_tuple",
    TupleGetItem: "visit_tuple_getitem",
    Constant: "visit_constant",
    Op: "visit_op",
    RefCreate: "visit_ref_create",
    RefRead: "visit_ref_read",
    RefWrite: "visit_ref_write",
    Constructor: "visit_constructor",
    Match: "visit_match",
}
"""The visit method of each class."""

FRAMES_PER_NODE = 6
"""How many Python frames one level of the graph may take in users' methods."""


@contextmanager
def deep_enough(root: GraphExpr) -> Iterator[None]:
    """Allow Python as many frames as a recursive walk over `root` may need."""
    depth: dict[Any, int] = {}
    for node in walk(root):
        depth[node] = 1 + max((depth.get(p, 0) for p in parts(node)), default=0)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + FRAMES_PER_NODE * depth.get(root, 1))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class ExprFunctor:
    """Calls the method for an expression's class and memoises its result (`memo_map`)."""

    methods: ClassVar[dict[type, str]] = METHODS

    def __init__(self) -> None:
        self.memo_map: dict[Any, Any] = {}
        self._running = False

    def visit(self, expr: GraphExpr) -> Any:
        """The result for `expr`."""
        if self._running:
            return self._visited(expr)
        with deep_enough(expr):
            self._running = True
            try:
                return self._visited(expr)  # not `visit`: a class that overrides it would see the root twice
            finally:
                self._running = False

    def _visited(self, expr: GraphExpr) -> Any:
        if expr in self.memo_map:
            return self.memo_map[expr]
        name = self.methods.get(type(expr))
        found = getattr(self, name)(expr) if name is not None else self.visit_other(expr)
        self.memo_map[expr] = found
        return found

    def visit_other(self, expr: GraphExpr) -> Any:
        """For classes that are not in the table."""
        raise fail("api", f"{type(self).__name__} has no method for a {type(expr).__name__}")

    def _missing(self, expr: GraphExpr) -> Any:
        name = self.methods[type(expr)]
        raise fail(
            "api", f"{type(self).__name__} has no {name}", help=f"define {name}(self, node)", kind=NotImplementedError
        )

    visit_function = visit_call = visit_let = visit_var = visit_global_var = visit_if = visit_tuple = _missing
    visit_tuple_getitem = visit_constant = visit_op = visit_ref_create = visit_ref_read = visit_ref_write = _missing
    visit_constructor = visit_match = _missing


class ExprVisitor(ExprFunctor):
    """Visits every subexpression; methods that are not overridden return None."""

    def _visit_parts(self, expr: GraphExpr) -> Any:
        for part in parts(expr):
            self.visit(part)

    def visit_other(self, expr: GraphExpr) -> Any:
        return self._visit_parts(expr)

    def visit_function(self, fn: Any) -> Any:
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_let(self, let: Any) -> Any:
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    visit_call = visit_if = visit_tuple = visit_tuple_getitem = visit_match = _visit_parts
    visit_ref_create = visit_ref_read = visit_ref_write = _visit_parts
    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = _visit_parts


class ExprMutator(ExprFunctor):
    """Rebuilds every expression from its parts' results; unchanged expressions stay the same objects, others have no
    types yet."""

    def _rebuilt(self, expr: GraphExpr) -> Any:
        done = {}
        for part in parts(expr):
            made = self.visit(part)
            if made is not part:
                done[part] = made
        return untyped(with_parts(expr, done)) if done else expr

    def visit_other(self, expr: GraphExpr) -> Any:
        return self._rebuilt(expr)

    def visit_function(self, fn: Any) -> Any:
        params = []
        for param in fn.params:
            params.append(self.visit(param))
        body = self.visit(fn.body)
        if body is fn.body and all(a is b for a, b in zip(params, fn.params)):
            return fn
        return Function(params, body, fn.ret_annotation, fn.type_params, fn.attrs, fn.span, where=fn.where)

    def visit_let(self, let: Any) -> Any:
        var = self.visit(let.var)
        value = self.visit(let.value)
        body = self.visit(let.body)
        if var is let.var and value is let.value and body is let.body:
            return let
        return Let(var, value, body, let.span)

    def visit_match(self, m: Any) -> Any:
        data = self.visit(m.data)
        clauses = []
        for clause in m.clauses:
            rhs = self.visit(clause.rhs)
            clauses.append(clause if rhs is clause.rhs else Clause(clause.lhs, rhs))
        if data is m.data and all(a is b for a, b in zip(clauses, m.clauses)):
            return m
        return Match(data, tuple(clauses), m.complete, span=m.span)

    visit_call = visit_if = visit_tuple = visit_tuple_getitem = _rebuilt
    visit_ref_create = visit_ref_read = visit_ref_write = _rebuilt
    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = _rebuilt
