"""RemoveNoOp: remove statements that do nothing, and statements whose bodies become empty.

    for i in range(4): A[i] = A[i]          ->      nothing

Also the passes that remove one kind of statement: assertions, assumptions, stores of undefined values.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.lowering.loop_ranges import with_ranges
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.simplify import NOTHING, mentions
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.empty_reductions import begun_if_empty
from baton._src.tir.analysis.same_value import same_values
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.effects import is_pure
from baton._src.tir.intrinsics import definition
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class RemoveNoOp(PrimFuncPass):
    """See the module's docstring. The setting `tir.RemoveNoOp` sets the effort of TVM's prover; results do not depend
    on it.
    """

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        ranges = with_ranges(body)
        found: st.Stmt = rewrite(body, lambda node: _never_runs(node, ranges) or _rule(node))
        return found


@dataclass(frozen=True)
class SkipAssert(PrimFuncPass):
    """Remove assertions."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        found: st.Stmt = rewrite(body, lambda n: n.body if isinstance(n, st.AssertStmt) else None)
        return found


@dataclass(frozen=True)
class RemoveAssume(PrimFuncPass):
    """Remove `T.assume(...)`, which only informs."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        def rule(node: Node) -> Node | None:
            return NOTHING if isinstance(node, st.Evaluate) and _calls(node.value, "tir.assume") else None

        return without_no_ops(rewrite(body, rule))


@dataclass(frozen=True)
class RemoveStoreUndef(PrimFuncPass):
    """Remove stores of `T.undef()`, which may store anything."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        def rule(node: Node) -> Node | None:
            return NOTHING if isinstance(node, st.BufferStore) and _calls(node.value, "tir.undef") else None

        return without_no_ops(rewrite(body, rule))


def without_no_ops(body: st.Stmt) -> st.Stmt:
    """`body` without statements that do nothing."""
    found: st.Stmt = rewrite(body, _rule)
    return found


def _never_runs(node: Node, ranges: Analyzer) -> st.Stmt | None:
    """The replacement of a loop that never has iterations; None for others."""
    if isinstance(node, st.For) and ranges.prove(ops.less_equal(node.extent, 0)):
        return _begun(node)
    return None


def _begun(loop: st.For) -> st.Stmt:
    """What an empty loop does: empty reductions give the identity."""
    first = begun_if_empty(loop)
    return st.stmt_seq(*first) if first else NOTHING


def is_nothing(stmt: st.Stmt | None) -> bool:
    """Whether a statement does nothing."""
    return stmt is None or (isinstance(stmt, st.Evaluate) and is_pure(stmt.value))


def _rule(node: Node) -> st.Stmt | None:
    """The replacement of a statement whose parts have been cleaned up; None if it stays."""
    match node:
        case st.SeqStmt():
            return _sequence(node)
        case st.For():
            if isinstance(node.extent, tir.IntImm) and node.extent.value <= 0:
                return _begun(node)
            return _effects(node.min, node.extent) if is_nothing(node.body) else None
        case st.IfThenElse():
            return _branch(node)
        case st.LetStmt():
            return None if mentions(node.body, {node.var}) else _sequence_of(_effects(node.value), node.body)
        case st.AttrStmt(attr_key="pragma_debug_skip_region"):
            return NOTHING
        case st.AttrStmt():
            return _effects(node.value) if is_nothing(node.body) else None
        case st.DeclBuffer():
            return None if mentions(node.body, {node.buffer}) else node.body
        case st.Allocate():
            return _effects(*node.extents) if is_nothing(node.body) else None
        case st.AllocateConst():
            return NOTHING if is_nothing(node.body) else None
        case st.BlockRealize():
            never = isinstance(node.predicate, tir.IntImm) and not node.predicate.value
            return NOTHING if never or (is_nothing(node.block.body) and is_nothing(node.block.init)) else None
        case st.BufferStore(buffer=buffer, value=tir.BufferLoad() as value):
            same = value.buffer is buffer and same_values(value.indices, node.indices)
            return _effects(*node.indices) if same else None
        case _:
            return None


def _effects(*exprs: PrimExpr) -> st.Stmt:
    """Statements that evaluate those of the expressions that have effects."""
    kept = [st.Evaluate(expr) for expr in exprs if not is_pure(expr)]
    return st.stmt_seq(*kept) if kept else NOTHING


def _sequence_of(*stmts: st.Stmt) -> st.Stmt:
    node = st.SeqStmt(stmts)
    return _sequence(node) or node


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
        return _effects(node.condition)
    return st.IfThenElse(ops.logical_not(node.condition), node.else_case)


def _calls(expr: PrimExpr, name: str) -> bool:
    row = definition(expr.op) if isinstance(expr, tir.Call) else None
    return row is not None and row.name == name


__all__ = ["RemoveAssume", "RemoveNoOp", "RemoveStoreUndef", "SkipAssert", "without_no_ops"]
