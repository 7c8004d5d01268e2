"""Loops of one iteration become their bodies: schedules leave them, and C is for people to read."""

from __future__ import annotations

from baton._src.ir.expr import Op
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.tir.lowering.fold import fold, substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st

_ROUNDS = 4
"""How often it is begun again: extents become numbers."""


def without_single_loops(body: st.Stmt) -> st.Stmt:
    """`body` without them, but for those that are left or continued by a statement of their own; and without names for
    numbers."""

    def rule(node: Node) -> Node | None:
        match node:
            case st.For(loop_var=var, min=value, extent=tir.IntImm(value=1), body=inner) if not _jumps(inner):
                pass
            case st.LetStmt(var=var, value=tir.IntImm() | tir.Var() as value, body=inner) if value.dtype.kind == "int":
                pass
            case _:
                return fold(node)
        without: st.Stmt = substitute_and_fold(inner, {var: value})
        return without

    for _ in range(_ROUNDS):
        found: st.Stmt = rewrite(body, rule)
        if found is body:
            break
        body = found
    return body


def _jumps(body: st.Stmt) -> bool:
    ops = (n.op for n in post_order(body) if isinstance(n, tir.Call))
    return any(isinstance(op, Op) and op.name in ("tir.break_loop", "tir.continue_loop") for op in ops)
