"""LoopPartition: a loop with a condition on its variable is split where the condition changes.

    for i in 10:                            for i in 8: B[i] = A[i]
        if likely(i < 8): B[i] = A[i]   ->
        else: B[i] = 0                      for i in 2: B[i + 8] = 0

The condition may also mention variables of loops inside: where it holds for all of their values, it is gone; the rest
of the iterations keep it. By default conditions marked `likely` count, in loops with symbolic extents; the setting
`tir.LoopPartition` makes loops with constant extents (`partition_const_loop`) take part, and keeps loops of one
iteration (`no_unroll_loop_with_extent_one`).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.passes.tir.pass_options import options_of
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.simplify import is_stable, simplified
from baton._src.passes.tir.ssa import converted
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.intrinsics import definition
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

_OPTIONS = (
    "partition_const_loop",
    "no_unroll_loop_with_extent_one",
    "unroll_loop_with_partition_hint_no_interval",  # of loops with a hint, which no loop here has
)

MOST = 4
"""Partitions of one loop: each condition makes at most one more."""


@dataclass(frozen=True)
class LoopPartition(PrimFuncPass):
    """See the module's docstring."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        options = options_of(ctx, "tir.LoopPartition", _OPTIONS)
        constant = bool(options.get("partition_const_loop", False))
        keep_units = bool(options.get("no_unroll_loop_with_extent_one", False))

        def rule(node: Any) -> Any:
            return _parts(node, constant, keep_units) if isinstance(node, st.For) else None

        found: st.Stmt = rewrite(body, rule)
        return found if found is body else simplified(converted(_without_likely(found), function), function)


def _parts(loop: st.For, constant: bool, keep_units: bool) -> st.Stmt | None:
    """The loop as a sequence of loops; None if no condition splits it. One iteration is no loop unless `keep_units`."""
    if isinstance(loop.extent, tir.IntImm) and not constant:
        return None
    if any(isinstance(n, st.Block) for n in post_order(loop.body)):
        return None  # the init of a reduction belongs to all of its iterations
    ends = [loop.min, ops.add(loop.min, loop.extent)]
    for place in _places(loop)[: MOST - 1]:
        ends.insert(-1, ops.max(ends[-2], ops.min(place, ends[-1])))
    if len(ends) == 2:
        return None
    analyzer = Analyzer()
    made: list[st.Stmt] = []
    for begin, end in itertools.pairwise(ends):
        extent = analyzer.simplify(ops.subtract(end, begin))
        if isinstance(extent, tir.IntImm) and extent.value <= 0:
            continue
        if ops.is_const(extent, 1) and not (keep_units or loop.annotations or loop.thread_binding):
            made.append(substitute(loop.body, {loop.loop_var: analyzer.simplify(begin)}))
            continue
        own = loop.loop_var.copy()
        body = substitute(loop.body, {loop.loop_var: own})
        made.append(loop.with_fields(loop_var=own, min=analyzer.simplify(begin), extent=extent,
                                     body=body))  # fmt: skip
    return st.SeqStmt(tuple(made)) if len(made) > 1 else None


def _places(loop: st.For) -> list[PrimExpr]:
    """Where conditions on the loop's variable change, in order of the program."""
    inner = {n.loop_var: Range(n.min, n.extent) for n in post_order(loop.body) if isinstance(n, st.For)}
    found: list[PrimExpr] = []
    for node in post_order(loop.body):
        if isinstance(node, tir.Call) and _name(node) == "tir.likely":
            conditions = [node.args[0]]
        else:
            continue
        while conditions:
            part = conditions.pop()
            if isinstance(part, tir.And):
                conditions += [part.b, part.a]
            elif isinstance(part, tir.CompareOp) and is_stable(part):
                place = _place(part, loop.loop_var, inner)
                found += [] if place is None else [place]
    return found


def _place(condition: tir.CompareOp, var: tir.Var, inner: dict[tir.Var, Range]) -> PrimExpr | None:
    """The first value of `var` from which the condition is (or may be) different from what it was before."""
    analyzer = Analyzer()
    a, b = condition.a, condition.b
    match condition:
        case tir.LT():
            slack = ops.subtract(ops.subtract(b, a), 1)
        case tir.LE():
            slack = ops.subtract(b, a)
        case tir.GT():
            slack = ops.subtract(ops.subtract(a, b), 1)
        case tir.GE():
            slack = ops.subtract(a, b)
        case _:
            return None
    least = eval_set(slack, inner).min if inner else slack  # the condition certainly holds where least >= 0
    if least is None or any(n in inner for n in post_order(least)):
        return None
    step = analyzer.simplify(ops.subtract(substitute(least, {var: ops.add(var, 1)}), least))
    if not isinstance(step, tir.IntImm) or step.value == 0:
        return None
    start = analyzer.simplify(substitute(least, {var: tir.IntImm(var.dtype, 0)}))
    if any(n is var for n in post_order(start)):
        return None
    start = ops.cast(var.dtype, start)
    if step.value < 0:
        place = ops.add(ops.floordiv(start, -step.value), 1)
    else:
        place = ops.floordiv(ops.add(ops.negative(start), step.value - 1), step.value)
    found: PrimExpr = analyzer.simplify(place)
    return found


def _name(call: tir.Call) -> str:
    row = definition(call.op)
    return "" if row is None else row.name


def _without_likely(body: st.Stmt) -> st.Stmt:
    """Marks have done their work."""
    found: st.Stmt = rewrite(
        body, lambda n: n.args[0] if isinstance(n, tir.Call) and _name(n) == "tir.likely" else None
    )
    return found


__all__ = ["LoopPartition"]
