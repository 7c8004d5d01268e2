"""LoopPartition: a loop with a condition on its variable is split where the condition changes.

    for i in 10:                            for i in 8: B[i] = A[i]
        if likely(i < 8): B[i] = A[i]   ->
        else: B[i] = 0                      for i in 2: B[i + 8] = 0

The condition may also depend on inner loops: it is removed from iterations in which it holds for all of their values,
and kept in the others. By default conditions marked `likely` count, in loops with symbolic extents; the setting
`tir.LoopPartition` makes loops with constant extents (`partition_const_loop`) take part, and keeps loops of one
iteration (`no_unroll_loop_with_extent_one`). In loops with a hint (the pragma `loop_partition_hint`) all comparisons
count; those that nothing splits are unrolled, if `unroll_loop_with_partition_hint_no_interval` says so.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rebuild, rewrite, substitute
from baton._src.passes.tir.pass_options import options_of
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.simplify import simplified
from baton._src.passes.tir.ssa import converted, defined_by, distinct
from baton._src.support.dataclass import dataclass
from baton._src.support.trampoline import Task, run
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.arith.systems.linear import sign_change, slack
from baton._src.tir.effects import is_stable
from baton._src.tir.intrinsics import definition
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

MOST = 4
"""Most partitions of one loop: each condition adds at most one."""
_TRUE = tir.IntImm("bool", 1)


@dataclass(frozen=True)
class LoopPartition(PrimFuncPass):
    """See the module's docstring."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        options = options_of(ctx, "tir.LoopPartition")
        ssa = converted(body, function)
        hinted = {n.node for n in post_order(ssa) if isinstance(n, st.AttrStmt) and _is_hint(n)}
        found = run(_Partition(options, hinted).statement(ssa))
        return body if found is ssa else simplified(converted(_without_marks(found), function), function)


def _is_hint(node: st.AttrStmt) -> bool:
    return node.attr_key == "pragma_loop_partition_hint" and not ops.is_const(node.value, 0)


class _Change(NamedTuple):
    """A condition that certainly holds on one side of a value of the loop variable."""

    place: PrimExpr
    condition: PrimExpr
    holds_before: bool
    """Whether it holds below the value; else it holds from it on."""

    def holds_in(self, part: int, number: int) -> bool:
        """Whether it holds in part `part` of the loop, where it is change number `number`: that part ends at its value
        or is empty, later parts begin there or later or are empty.
        """
        return part == number if self.holds_before else part > number


class _Partition:
    """The settings, and the variables of loops with a hint."""

    def __init__(self, options: Mapping[str, Any], hinted: set[Any]) -> None:
        self.hinted = hinted
        self.constant = bool(options.get("partition_const_loop", False))
        self.keep_units = bool(options.get("no_unroll_loop_with_extent_one", False))
        self.unrolls = bool(options.get("unroll_loop_with_partition_hint_no_interval", False))

    def statement(self, node: st.Stmt) -> Task[st.Stmt]:
        """A statement with its loops split, outer ones first: what they decide does not split inner ones."""
        if isinstance(node, st.For) and (self.constant or not isinstance(node.extent, tir.IntImm)):
            made = self.parts(node)
            if isinstance(made, st.SeqStmt):
                parts = []
                for part in made.seq:
                    parts.append((yield self.inside(part) if isinstance(part, st.For) else self.statement(part)))
                return st.SeqStmt(tuple(parts))
            node = made or node
        found: st.Stmt = yield self.inside(node)
        return found

    def inside(self, node: st.Stmt) -> Task[st.Stmt]:
        """A statement with the loops below it split."""
        changed: dict[Any, Any] = {}
        for part in children(node):
            if isinstance(part, st.Stmt):
                changed[part] = yield self.statement(part)
        found: st.Stmt = rebuild(node, changed) if any(old is not new for old, new in changed.items()) else node
        return found

    def parts(self, loop: st.For) -> st.Stmt | None:
        """The loop as a sequence of loops, as an unrolled one, or None if no condition splits it."""
        if any(isinstance(n, st.Block) for n in post_order(loop.body)):
            return None  # the init of a reduction belongs to all of its iterations
        is_hinted = loop.loop_var in self.hinted
        changes = _changes(loop, is_hinted)[: MOST - 1]
        if not changes:
            return loop.with_fields(kind=st.ForKind.UNROLLED) if is_hinted and self.unrolls else None
        ends = [loop.min, ops.add(loop.min, loop.extent)]
        for change in changes:
            ends.insert(-1, ops.max(ends[-2], ops.min(change.place, ends[-1])))
        made = []
        for part, (begin, end) in enumerate(itertools.pairwise(ends)):
            known = {c.condition: _TRUE for number, c in enumerate(changes) if c.holds_in(part, number)}
            made += self.part(loop, begin, end, substitute(loop.body, known))
        return distinct(st.SeqStmt(tuple(made))) if len(made) > 1 else None

    def part(self, loop: st.For, begin: PrimExpr, end: PrimExpr, body: st.Stmt) -> list[st.Stmt]:
        """The iterations between two bounds, possibly none. A single one is not a loop unless unit loops are kept."""
        first = Analyzer().simplify(begin)
        extent = Analyzer().simplify(ops.subtract(end, begin))
        if isinstance(extent, tir.IntImm) and extent.value <= 0:
            return []
        if ops.is_const(extent, 1) and not (self.keep_units or loop.annotations or loop.thread_binding):
            return [substitute(body, {loop.loop_var: first})]
        own = loop.loop_var.copy()
        return [loop.with_fields(loop_var=own, min=first, extent=extent, body=substitute(body, {loop.loop_var: own}))]


def _changes(loop: st.For, is_hinted: bool) -> list[_Change]:
    """The values at which conditions on the loop variable change, in program order: of likely conditions, or all with a
    hint.
    """
    nodes = post_order(loop.body)
    inner = {n.loop_var: Range(n.min, n.extent) for n in nodes if isinstance(n, st.For)}
    own = {n.var for n in nodes if isinstance(n, st.LetStmt | tir.Let)}
    own |= {var for n in nodes if isinstance(n, st.AttrStmt) for var in defined_by(n)}
    found: dict[PrimExpr, _Change] = {}
    for condition in _conditions(nodes, is_hinted):
        change = _change(condition, loop.loop_var, inner) if is_stable(condition) else None
        if change is not None and own.isdisjoint(post_order(change.place)):
            found.setdefault(condition, change)
    return list(found.values())


def _conditions(nodes: list[Any], is_hinted: bool) -> list[tir.CompareOp]:
    """The comparisons that count, except those under `ignore_loop_partition`."""
    marks = [n for n in nodes if isinstance(n, tir.Call) and _name(n) == "tir.ignore_loop_partition"]
    ignored = {below for mark in marks for below in post_order(mark.args[0])}
    if is_hinted:
        return [n for n in nodes if isinstance(n, tir.CompareOp) and n not in ignored]
    likely = [n.args[0] for n in nodes if isinstance(n, tir.Call) and _name(n) == "tir.likely"]
    terms = (term for given in likely for term in ops.conjuncts(given))
    return [term for term in terms if isinstance(term, tir.CompareOp) and term not in ignored]


def _change(condition: tir.CompareOp, var: tir.Var, inner: dict[tir.Var, Range]) -> _Change | None:
    """The first value of `var` from which the condition is (or may be) different from what it was before."""
    analyzer = Analyzer()
    room = slack(condition) if condition.a.dtype.kind == "int" and condition.a.dtype.lanes == 1 else None
    if room is None:
        return None
    least = eval_set(room, inner).min if inner else room  # the condition certainly holds where least >= 0
    if least is None or any(n in inner for n in post_order(least)):
        return None
    step = analyzer.simplify(ops.subtract(substitute(least, {var: ops.add(var, 1)}), least))
    if not isinstance(step, tir.IntImm) or step.value == 0:
        return None
    start = analyzer.simplify(substitute(least, {var: tir.IntImm(var.dtype, 0)}))
    if any(n is var for n in post_order(start)):
        return None
    place = analyzer.simplify(sign_change(ops.cast(var.dtype, start), step.value))
    return _Change(place, condition, holds_before=step.value < 0)


def _name(call: tir.Call) -> str:
    row = definition(call.op)
    return "" if row is None else row.name


def _without_marks(body: st.Stmt) -> st.Stmt:
    """Remove likely conditions and hints, which are no longer needed."""

    def rule(node: Node) -> Any:
        if isinstance(node, tir.Call) and _name(node) == "tir.likely":
            return node.args[0]
        return node.body if isinstance(node, st.AttrStmt) and _is_hint(node) else None

    found: st.Stmt = rewrite(body, rule)
    return found


__all__ = ["LoopPartition"]
