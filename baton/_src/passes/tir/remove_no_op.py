"""RemoveNoOp: statements that do nothing are gone, and what then has nothing inside.

    for i in range(4): A[i] = A[i]          ->      nothing

With the passes that take out one kind of statement: assertions, assumptions, stores of undefined values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.pass_options import options_of
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.simplify import NOTHING, is_pure, mentions
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import definition
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.reductions import begun
from baton._src.tir.same_value import same_values
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class RemoveNoOp(PrimFuncPass):
    """See the module's docstring. The setting `tir.RemoveNoOp` says how hard TVM's prover is to try; its options are
    checked by name, the meaning does not depend on them."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        options_of(ctx, "tir.RemoveNoOp", ("use_dataflow_analysis", "max_simplification_steps"))
        return without_no_ops(body)


@dataclass(frozen=True)
class SkipAssert(PrimFuncPass):
    """No assertion is checked."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        found: st.Stmt = rewrite(body, lambda n: n.body if isinstance(n, st.AssertStmt) else None)
        return found


@dataclass(frozen=True)
class RemoveAssume(PrimFuncPass):
    """`T.assume(...)`, which only informs, is gone."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        def rule(node: Any) -> Any:
            return NOTHING if isinstance(node, st.Evaluate) and _calls(node.value, "tir.assume") else None

        return without_no_ops(rewrite(body, rule))


@dataclass(frozen=True)
class RemoveStoreUndef(PrimFuncPass):
    """Stores of `T.undef()`, which may leave anything, leave what is there."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        def rule(node: Any) -> Any:
            return NOTHING if isinstance(node, st.BufferStore) and _calls(node.value, "tir.undef") else None

        return without_no_ops(rewrite(body, rule))


def without_no_ops(body: st.Stmt) -> st.Stmt:
    """`body` without statements that do nothing."""
    found: st.Stmt = rewrite(body, _rule)
    return found


def is_nothing(stmt: st.Stmt | None) -> bool:
    """Whether a statement does nothing."""
    return stmt is None or (isinstance(stmt, st.Evaluate) and is_pure(stmt.value))


def _rule(node: Any) -> st.Stmt | None:
    """What a statement whose parts have been cleaned up becomes; None: it stays."""
    match node:
        case st.SeqStmt():
            return _sequence(node)
        case st.For():
            if isinstance(node.extent, tir.IntImm) and node.extent.value <= 0:
                return begun(node) or NOTHING  # an empty reduction gives the identity
            return NOTHING if is_nothing(node.body) else None
        case st.IfThenElse():
            return _branch(node)
        case st.LetStmt():
            unused = is_pure(node.value) and not mentions(node.body, {node.var})
            return node.body if unused else None
        case st.Allocate() | st.AllocateConst() | st.DeclBuffer() | st.AttrStmt():
            return NOTHING if is_nothing(node.body) else None
        case st.BlockRealize():
            never = isinstance(node.predicate, tir.IntImm) and not node.predicate.value
            return NOTHING if never or (is_nothing(node.block.body) and is_nothing(node.block.init)) else None
        case st.BufferStore(buffer=buffer, value=tir.BufferLoad() as value):
            same = value.buffer is buffer and same_values(value.indices, node.indices)
            return NOTHING if same and all(is_pure(i) for i in node.indices) else None
        case _:
            return None


def _sequence(node: st.SeqStmt) -> st.Stmt | None:
    kept: list[st.Stmt] = []
    for item in node.seq:
        kept += item.seq if isinstance(item, st.SeqStmt) else [] if is_nothing(item) else [item]
    if not kept:
        return NOTHING
    if len(kept) == 1:
        return kept[0]
    unchanged = len(kept) == len(node.seq) and all(a is b for a, b in zip(kept, node.seq))
    return None if unchanged else st.SeqStmt(tuple(kept))


def _branch(node: st.IfThenElse) -> st.Stmt | None:
    if isinstance(node.condition, tir.IntImm):
        taken = node.then_case if node.condition.value else node.else_case
        return NOTHING if taken is None else taken
    if not is_nothing(node.then_case):
        return node.with_fields(else_case=None) if node.else_case is not None and is_nothing(node.else_case) else None
    if node.else_case is None or is_nothing(node.else_case):
        return NOTHING if is_pure(node.condition) else st.Evaluate(node.condition)
    return st.IfThenElse(ops.logical_not(node.condition), node.else_case)


def _calls(expr: Any, name: str) -> bool:
    row = definition(expr.op) if isinstance(expr, tir.Call) else None
    return row is not None and row.name == name


__all__ = ["RemoveAssume", "RemoveNoOp", "RemoveStoreUndef", "SkipAssert", "without_no_ops"]
