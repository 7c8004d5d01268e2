"""Operators evaluated in Python while a function is read: conditional expressions, `and`, comparisons.

They need Python values: a value of the program is chosen by an if statement, a dim by `T.if_then_else`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Protocol

from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.relax.nodes import Expr
from baton._src.support.diagnostics import DiagnosticError
from baton._src.support.python_operators import COMPARISONS
from baton._src.support.trampoline import Task
from baton._src.tir.expr import And, Or
from baton._src.tir.operators import convert

Read = Callable[[ast.expr], Task[Any]]


class Evaluation(Protocol):
    """The part of `evaluate.Evaluator` that is used here."""

    def error(self, code: str, message: str, node: ast.AST, help: str | None = None) -> DiagnosticError: ...
    def at(self, node: ast.AST, action: Callable[[], Any]) -> Any: ...
    def placed(self, value: Any, node: ast.AST) -> Any: ...


def _is_program(value: Any) -> bool:
    """Whether a value belongs to the program being read, and so is known only at run time."""
    return isinstance(value, (GraphExpr, PrimExpr))


def conditional(ev: Evaluation, node: ast.IfExp, read: Read) -> Task[Any]:
    """`a if c else b`, where `c` is known now."""
    test = yield read(node.test)
    if isinstance(test, GraphExpr):
        raise ev.error(
            "script-syntax", "a conditional expression is decided while the script is read, this condition when it"
            " runs", node.test, help="write an if statement whose branches end by assigning one name",
        )  # fmt: skip
    if isinstance(test, PrimExpr):
        raise ev.error(
            "script-syntax", f"a conditional expression is decided while the script is read, {test} is known only when"
            " it runs", node.test, help="write T.if_then_else(condition, a, b) for dims, an if statement for values",
        )  # fmt: skip
    return (yield read(node.body if test else node.orelse))


def logical(ev: Evaluation, node: ast.BoolOp, read: Read) -> Task[Any]:
    """`a and b`, `a or b`: as in Python for Python values; for scalars a scalar expression."""
    is_and = isinstance(node.op, ast.And)
    found: Any = is_and
    for part in node.values:
        if not isinstance(found, PrimExpr) and bool(found) != is_and:
            return found
        item = yield read(part)
        if isinstance(item, GraphExpr):
            name = "R.logical_and" if is_and else "R.logical_or"
            raise ev.error("script-syntax", "`and` and `or` are not defined for tensors", node, help=f"use {name}")
        found = (And if is_and else Or)(found, convert(item)) if isinstance(found, PrimExpr) else item
    return found


def comparison(ev: Evaluation, node: ast.Compare, read: Read) -> Task[Any]:
    """`a < b`; chains, `is` and `in` are for Python values only."""
    left = yield read(node.left)
    holds: Any = True
    for op, right_node in zip(node.ops, node.comparators):
        right = yield read(right_node)
        if len(node.ops) > 1 and (_is_program(left) or _is_program(right)):
            raise ev.error(
                "script-syntax", "a chain of comparisons is not defined for tensors and dims", node,
                help="compare two at a time; R.logical_and joins tensors, T.And dims",
            )  # fmt: skip
        holds = _compared(ev, node, op, left, right)
        if len(node.ops) > 1 and not holds:
            return holds
        left = right
    return holds


def _compared(ev: Evaluation, node: ast.Compare, op: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(op, (ast.Eq, ast.NotEq)) and (isinstance(left, Expr) or isinstance(right, Expr)):
        name = "equal" if isinstance(op, ast.Eq) else "not_equal"
        build = left.build if isinstance(left, Expr) else right.build
        return ev.placed(ev.at(node, lambda: build(name, left, right)), node)
    if isinstance(op, (ast.In, ast.NotIn)) and _is_program(right):
        raise ev.error("script-syntax", "`in` is not defined for tensors and dims", node)
    if isinstance(op, (ast.Is, ast.IsNot)) and _is_program(left) and _is_program(right):
        message = "`is` is not defined for tensors and dims: it would be decided while the script is read"
        raise ev.error("script-syntax", message, node, help="compare their values, by == or R.equal")
    return ev.placed(ev.at(node, lambda: COMPARISONS[type(op)](left, right)), node)
