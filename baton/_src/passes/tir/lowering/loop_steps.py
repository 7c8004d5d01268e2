"""Lower loop annotations, one kind per pass, and selects that read memory.

    VectorizeLoop, ConvertForLoopsToSerial, InjectVirtualThread, RewriteUnsafeSelect

`VectorizeLoop` makes one vector of a whole loop, as the annotation specifies; `lower_prim_func` splits loops into
vectors of the target's registers instead.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.passes.tir.lowering.fold import fold, substitute_and_fold
from baton._src.passes.tir.lowering.widen import CannotVectorize, Widening
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.vector_order import lanes_need_each_other
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.builders import scalar_functions
from baton._src.tir.effects import is_stable
from baton._src.tir.intrinsics import Effect, definition, is_pure_call
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.thread_axes import launched_axis, thread_loop
from baton._src.transform.context import PassContext

SERIAL = st.ForKind.SERIAL


@dataclass(frozen=True)
class VectorizeLoop(PrimFuncPass):
    """A loop marked `VECTORIZED` over a number of iterations becomes one vector; without `enable_vectorize` (and where
    iterations need each other) a serial loop. Of a sequence, the statements that cannot be vectors are serial loops
    between the others. Takes accesses with one index (`FlattenBuffer`)."""

    enable_vectorize: bool = True

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        enabled = self.enable_vectorize and not ctx.setting("tir.disable_vectorize")
        found: st.Stmt = rewrite(body, lambda node: _vectorized(node, enabled))
        return found


def _vectorized(node: Node, enabled: bool) -> Any:
    if not isinstance(node, st.For) or node.kind is not st.ForKind.VECTORIZED:
        return fold(node)
    if not enabled or not isinstance(node.extent, tir.IntImm) or node.extent.value < 1:
        return node.with_fields(kind=SERIAL)
    for item in post_order(node.body):
        if isinstance(item, st.BufferStore | tir.BufferLoad) and len(item.indices) != 1:
            raise fail(
                "tir-flat", f"{item.buffer.name} is accessed with several indices", help="run FlattenBuffer first"
            )
    if node.extent.value == 1:
        return substitute_and_fold(node.body, {node.loop_var: node.min})
    serial = node.with_fields(kind=SERIAL)
    if lanes_need_each_other(node, node.extent.value):
        return serial
    if wide := _wide(node, node.body):
        return wide
    statements = node.body.seq if isinstance(node.body, st.SeqStmt) else ()
    return _in_turn(serial, statements) if statements and _says_what_it_does(node.body) else serial


def _wide(loop: st.For, stmt: st.Stmt) -> st.Stmt | None:
    """A statement of a loop's body for all iterations at once; None if it cannot be vectorised."""
    assert isinstance(loop.extent, tir.IntImm)
    try:
        made = Widening(loop.loop_var, loop.min, loop.extent.value).statement(stmt)
    except CannotVectorize:
        return None
    return None if _has_masks(made) else made


def _in_turn(serial: st.For, statements: Sequence[st.Stmt]) -> st.Stmt:
    """Statements as vectors where possible, with loops for the others in between: iterations are independent."""
    done: list[st.Stmt] = []
    for is_serial, group in itertools.groupby(
        ((s, _wide(serial, s)) for s in statements), lambda pair: pair[1] is None
    ):
        pairs = list(group)
        if is_serial:
            var = serial.loop_var.copy()
            body = substitute(st.stmt_seq(*(s for s, _ in pairs)), {serial.loop_var: var})
            done.append(serial.with_fields(loop_var=var, body=body))
        else:
            done += [made for _, made in pairs if made is not None]
    return serial if len(done) == 1 else st.SeqStmt(tuple(done))


def _says_what_it_does(stmt: st.Stmt) -> bool:
    """Whether a statement consists of loads and stores only: calls may depend on their order."""
    return all(is_pure_call(n, Effect.READ) for n in post_order(stmt) if isinstance(n, tir.Call))


def _has_masks(stmt: st.Stmt) -> bool:
    """Whether statements run, or operands are computed, for some lanes only: TIR cannot express that (only code
    generation can).
    """
    return any(_condition(n).dtype.lanes > 1 for n in post_order(stmt) if _condition(n) is not None)


def _condition(node: Node) -> Any:
    match node:
        case st.IfThenElse():
            return node.condition
        case tir.Call() if (row := definition(node.op)) is not None and row.name == "tir.if_then_else":
            return node.args[0]
        case _:
            return None


@dataclass(frozen=True)
class ConvertForLoopsToSerial(PrimFuncPass):
    """Parallel loops become serial."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        def rule(node: Node) -> Node | None:
            parallel = isinstance(node, st.For) and node.kind is st.ForKind.PARALLEL
            return node.with_fields(kind=SERIAL) if parallel else None

        found: st.Stmt = rewrite(body, rule)
        return found


@dataclass(frozen=True)
class InjectVirtualThread(PrimFuncPass):
    """Virtual threads (`vthread`) become iterations of a serial loop."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        def rule(node: Node) -> Node | None:
            if isinstance(node, st.AttrStmt) and _is_virtual(launched_axis(node)):
                return thread_loop(node)
            axis = node.thread_binding if isinstance(node, st.For) else None
            return node.with_fields(kind=SERIAL, thread_binding=None) if _is_virtual(axis) else None

        found: st.Stmt = rewrite(body, rule)
        return found


def _is_virtual(axis: tir.IterVar | None) -> bool:
    return axis is not None and axis.thread_tag.startswith("vthread")


@dataclass(frozen=True)
class RewriteUnsafeSelect(PrimFuncPass):
    """`Select` evaluates both values: where one reads memory or calls something, it becomes `if_then_else`."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        def rule(node: Node) -> Node | None:
            if not isinstance(node, tir.Select) or node.condition.dtype.lanes > 1:
                return None
            if is_stable(node.true_value) and is_stable(node.false_value):
                return None
            return scalar_functions.if_then_else(node.condition, node.true_value, node.false_value)

        found: st.Stmt = rewrite(body, rule)
        return found


__all__ = ["ConvertForLoopsToSerial", "InjectVirtualThread", "RewriteUnsafeSelect", "VectorizeLoop"]
