"""Simplify: canonicalise integer expressions, and remove conditions that enclosing loops and conditions decide.

for i in range(8):
    if i < 10: B[i * 4 // 4] = A[i + 0]         ->      B[i] = A[i]
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rebuild
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.support.trampoline import Task, run
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.empty_reductions import begun_if_empty
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.effects import is_pure, is_stable
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

NOTHING = st.Evaluate(tir.IntImm("int32", 0))


@dataclass(frozen=True)
class Simplify(PrimFuncPass):
    """See the module's docstring. The setting `tir.Simplify` sets the effort of TVM's prover; results do not depend on
    it.
    """

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        return simplified(body, function)


@dataclass(frozen=True)
class RenormalizeSplitPattern(Simplify):
    """Indices of split loops in one normal form of quotients and remainders; `Simplify` has that form already."""


def simplified(body: st.Stmt, function: PrimFunc | None = None) -> st.Stmt:
    """`body` with everything simplified; sizes in the shapes of `function`'s parameters are at least 0.

    Indices are assumed not to overflow; sums of integers read from memory wrap.
    """
    analyzer = Analyzer()
    analyzer.let_data_wrap()
    if function is not None:
        for buffer in function.buffer_map.values():
            for dim in buffer.shape:
                analyzer.assume(ops.greater_equal(dim, 0))  # of n + 1 that n is -1 or more
    return run(_Simplifier(analyzer).stmt(body))


class _Simplifier:
    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    def _expression(self, expr: PrimExpr) -> PrimExpr:
        """An expression simplified; one that calls functions with effects as it is, with all of its calls."""
        return self.analyzer.simplify(expr) if is_pure(expr) else expr

    def stmt(self, node: st.Stmt) -> Task[st.Stmt]:
        match node:
            case st.For():
                found: st.Stmt = yield self._loop(node)
            case st.IfThenElse():
                found = yield self._branch(node)
            case st.LetStmt():
                value = self._expression(node.value)
                if isinstance(value, tir.IntImm | tir.Var) and value.dtype.is_int:
                    self.analyzer.bind(node.var, value)
                else:
                    self.analyzer.unbind(node.var)
                    if value.dtype.is_int:
                        self.analyzer.mark_data(node.var, value)
                found = node.with_fields(value=value, body=(yield self.stmt(node.body)))
            case st.AssertStmt():
                held = self._expression(node.condition)
                with self._given(held):
                    found = node.with_fields(condition=held, body=(yield self.stmt(node.body)))
            case st.BlockRealize():
                found = yield self._realize(node)
            case _:
                found = yield self._other(node)
        return found

    def _loop(self, loop: st.For) -> Task[st.Stmt]:
        low, extent = self._expression(loop.min), self._expression(loop.extent)
        if isinstance(extent, tir.IntImm) and extent.value <= 0:
            first = begun_if_empty(loop)  # an empty reduction gives the identity
            return (yield self.stmt(st.stmt_seq(*first))) if first else NOTHING
        if is_pure(low) and is_pure(extent):
            self.analyzer.bind(loop.loop_var, Range(low, extent))
        return loop.with_fields(min=low, extent=extent, body=(yield self.stmt(loop.body)))

    def _branch(self, node: st.IfThenElse) -> Task[st.Stmt]:
        condition = self._expression(node.condition)
        if isinstance(condition, tir.IntImm):
            taken = node.then_case if condition.value else node.else_case
            chosen: st.Stmt = NOTHING if taken is None else (yield self.stmt(taken))
            return chosen
        with self._given(condition):
            then = yield self.stmt(node.then_case)
        other = None
        if node.else_case is not None:
            with self._given(ops.logical_not(condition)):
                other = yield self.stmt(node.else_case)
        return node.with_fields(condition=condition, then_case=then, else_case=other)

    def _given(self, condition: PrimExpr) -> Any:
        known = condition if is_stable(condition) and condition.dtype.lanes == 1 else tir.IntImm("bool", 1)
        return self.analyzer.constrained(known)

    def _realize(self, node: st.BlockRealize) -> Task[st.Stmt]:
        values = tuple(self._expression(v) for v in node.iter_values)
        predicate = self._expression(node.predicate)
        for axis in node.block.iter_vars:
            if axis.dom is not None:
                self.analyzer.bind(axis.var, axis.dom)
        return node.with_fields(iter_values=values, predicate=predicate, block=(yield self._other(node.block)))

    def _other(self, node: st.Stmt) -> Task[Any]:
        """A statement without its own rule: its parts, simplified."""
        changed: dict[Any, Any] = {}
        for part in children(node):
            if isinstance(part, st.Stmt):
                found: Any = yield self.stmt(part)
            elif isinstance(part, PrimExpr) and not isinstance(part, tir.Var):
                found = self._expression(part)
            elif isinstance(part, BufferRegion):
                ranges = (Range(self._expression(r.min), self._expression(r.extent)) for r in part.region)
                found = part.with_fields(region=tuple(ranges))
            else:
                continue
            if found is not part:
                changed[part] = found
        return rebuild(node, changed) if changed else node


def mentions(root: Node, wanted: set[Any]) -> bool:
    """Whether a variable or buffer of `wanted` occurs in `root`."""
    return any(n in wanted for n in post_order(root) if isinstance(n, tir.Var | Buffer))


__all__ = ["NOTHING", "RenormalizeSplitPattern", "Simplify", "mentions", "simplified"]
