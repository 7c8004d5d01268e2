"""Single definitions: verify that every variable is defined once, and convert functions to that form.

A statement that occurs in two places counts twice: a variable shared by two loops becomes two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rebuild, rewrite, substitute
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.support.trampoline import Task, run
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.views import defined_by as defined_by_view
from baton._src.tir.thread_axes import launched_axis
from baton._src.transform.context import PassContext


def defined_by(node: Node) -> list[tir.Var]:
    """The variables that a statement defines for what is below it."""
    match node:
        case st.For():
            return [node.loop_var]
        case st.LetStmt():
            return [node.var]
        case st.Allocate() | st.AllocateConst():
            return [node.buffer_var]
        case st.Block():
            shown = [var for view in node.match_buffers for var in defined_by_view(view)]
            return [*(iv.var for iv in node.iter_vars), *(buffer.data for buffer in node.alloc_buffers), *shown]
        case st.AttrStmt() if (axis := launched_axis(node)) is not None:
            return [axis.var]
        case _:
            return []


def _declared(node: Node) -> list[Buffer]:
    """The buffers that a statement declares: each stays a single buffer where its pointer is renamed."""
    match node:
        case st.DeclBuffer():
            return [node.buffer]
        case st.Block():
            return [*node.alloc_buffers, *(match.buffer for match in node.match_buffers)]
        case _:
            return []


def verify_ssa(func: PrimFunc) -> bool:
    """Whether every variable of `func` is defined once."""
    seen: set[Any] = set(func.params)
    stack: list[Any] = [func.body]
    while stack:
        node = stack.pop()
        defined = defined_by(node)
        if not seen.isdisjoint(defined):
            return False
        seen.update(defined)
        stack += st.inner_statements(node)
    return True


@dataclass(frozen=True)
class ConvertSSA(PrimFuncPass):
    """Variables that are defined several times become several variables."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        return converted(body, function)


def converted(body: st.Stmt, function: PrimFunc) -> st.Stmt:
    """`body` of `function` with every variable defined once."""
    return distinct(body, function.params)


def distinct(stmt: st.Stmt, known: Iterable[tir.Var] = ()) -> st.Stmt:
    """A statement in which every variable is defined once, and none of those `known` outside is."""
    found: st.Stmt = run(_renamed(stmt, {}, set(known)))
    return found


def _renamed(node: st.Stmt, renames: dict[Any, Any], seen: set[Any]) -> Task[st.Stmt]:
    for var in defined_by(node):
        renames = {k: v for k, v in renames.items() if k is not var}
        if var in seen:
            renames[var] = var.copy()
        seen.add(var)
    for buffer in _declared(node):
        shown = substitute(buffer, renames)
        if shown is not buffer:
            renames = {**renames, buffer: shown}
    changed: dict[Any, Any] = {}
    parts = []
    for part in children(node):
        is_statement = isinstance(part, st.Stmt)
        found = (yield _renamed(part, renames, seen)) if is_statement else _expression(part, renames, seen)
        parts.append((part, found))
        changed[part] = found
    if isinstance(node, st.SeqStmt):  # one statement in two places has two forms
        return node.with_fields(seq=tuple(f for _, f in parts)) if any(f is not p for p, f in parts) else node
    if isinstance(node, st.IfThenElse) and node.then_case is node.else_case:
        return node.with_fields(then_case=parts[-2][1], else_case=parts[-1][1])
    made = rebuild(node, changed)
    if isinstance(node, st.AttrStmt) and isinstance(made, st.AttrStmt) and _loop_below(node.body) is node.node:
        return made.with_fields(node=_loop_below(made.body))
    return made


def _expression(part: Any, renames: dict[Any, Any], seen: set[Any]) -> Any:
    """An expression, or what holds some, with a variable of its own for each `Let` whose variable was seen before."""

    def rule(node: Node) -> Node | None:
        if not isinstance(node, tir.Let):
            return None
        var = node.var.copy() if node.var in seen else node.var
        seen.add(var)
        return None if var is node.var else tir.Let(var, node.value, substitute(node.body, {node.var: var}), node.span)

    found = substitute(part, renames)
    return rewrite(found, rule) if any(isinstance(n, tir.Let) for n in post_order(found)) else found


def _loop_below(body: st.Stmt) -> tir.Var | None:
    """The variable of the loop that attributes around it tell something about."""
    while isinstance(body, st.AttrStmt):
        body = body.body
    return body.loop_var if isinstance(body, st.For) else None


__all__ = ["ConvertSSA", "converted", "verify_ssa"]
