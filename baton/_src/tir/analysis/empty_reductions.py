"""What begins the reductions that turn out to have nothing to reduce, wherever the loops that carry them stand.

    for i: for k in range(n): { block P; block(vi = i, vk = k) { init: C[vi] = 0; C[vi] += P[vk] } }

Where another block shares the loop, or one loop covers a reduced and another axis (they were fused), the init runs
inside, at the first iteration: never for n = 0. In front of the outermost loop that carries the reduction it has to run
if there is nothing to reduce, `if n <= 0: C[i] = 0`: over the axes that inner loops give, and over the whole of those
that share a loop with the reduction.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.reductions import condition_at_start, variables_of
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.thread_axes import thread_loop

_TRUE = tir.IntImm("bool", 1)


@dataclass(frozen=True)
class EmptyReduction:
    """What begins the reduction of a block if there is nothing to reduce."""

    block: st.Block
    beginning: st.Stmt


@dataclass(frozen=True)
class _Place:
    """What is around a statement: of the loops and conditions those that a beginning can stand in front of."""

    loops: tuple[st.For, ...] = ()
    conditions: tuple[PrimExpr, ...] = ()
    around: frozenset[tir.Var] = frozenset()
    """Variables of loops and blocks further out."""

    def inside(self, loop: st.For) -> _Place:
        return _Place((*self.loops, loop), self.conditions, self.around)

    def under(self, condition: PrimExpr) -> _Place:
        return _Place(self.loops, (*self.conditions, condition), self.around)

    def hidden(self, *variables: tir.Var) -> _Place:
        return _Place(around=self.around | {loop.loop_var for loop in self.loops} | set(variables))


def empty_reductions(body: st.Stmt) -> dict[tir.Var, list[EmptyReduction]]:
    """What has to stand in front of loops for reductions that may be empty, by the loops' variables."""
    found: dict[tir.Var, list[EmptyReduction]] = {}
    pending = [(body, _Place())]
    while pending:
        item, place = pending.pop()
        match item:
            case st.BlockRealize(block=block):
                if block.init is not None and (made := _in_front(item, place)) is not None:
                    found.setdefault(made[0], []).append(EmptyReduction(block, made[1]))
                pending.append((block.body, place.hidden(*(axis.var for axis in block.iter_vars))))
            case st.For():
                pending.append((item.body, place.inside(item)))
            case st.AttrStmt() if (threads := thread_loop(item)) is not None:
                pending.append((threads.body, place.inside(threads)))
            case st.IfThenElse(condition=condition):
                pending.append((item.then_case, place.under(condition)))
                if item.else_case is not None:
                    pending.append((item.else_case, place.under(ops.logical_not(condition))))
            case st.SeqStmt():
                pending += [(part, place) for part in item.seq]
            case st.AttrStmt() | st.AssertStmt() | st.DeclBuffer():
                pending.append((item.body, place))
            case st.LetStmt() | st.While() | st.Allocate() | st.AllocateConst():
                pending.append((item.body, place.hidden()))  # what these make is not there in front of the loops around
            case st.Block():
                pending.append((item.body, place.hidden()))
            case _:
                pass
    return found


def begun_if_empty(loop: st.For) -> list[st.Stmt]:
    """What begins the reductions that `loop` carries if they are empty."""
    return [made.beginning for made in empty_reductions(loop).get(loop.loop_var, ())]


def _in_front(realize: st.BlockRealize, place: _Place) -> tuple[tir.Var, st.Stmt] | None:
    """The variable of the outermost loop that carries the reduction, and what begins it in front of that loop; None
    if there is certainly something to reduce.
    """
    reducing = variables_of(realize, reducing=True)
    first = next((n for n, loop in enumerate(place.loops) if loop.loop_var in reducing), None)
    if first is None or not reducing.isdisjoint(place.around) or any(map(_reads_memory, place.conditions)):
        return None
    below = place.loops[first:]
    carrying = [loop for loop in below if loop.loop_var in reducing]
    kept = [loop for loop in below if loop.loop_var not in reducing]
    start: dict[Any, Any] = {loop.loop_var: loop.min for loop in carrying}
    nothing = _nothing_to_reduce(realize, carrying, start)
    if ops.is_const(nothing, 0):
        return None
    nest = _beginning(realize, place.conditions, start, kept, nothing)
    return None if nest is None else (below[0].loop_var, nest)


def _nothing_to_reduce(realize: st.BlockRealize, carrying: list[st.For], start: Mapping[Any, Any]) -> PrimExpr:
    """Whether a loop that carries the reduction, or an axis that it reduces, is empty."""
    axes = (axis.dom for axis in realize.block.iter_vars if axis.iter_type == "reduce")
    sizes = [*(loop.extent for loop in carrying), *(dom.extent for dom in axes if dom is not None)]
    found: list[PrimExpr] = []
    analyzer = Analyzer()
    for size in sizes:
        empty = analyzer.simplify(ops.less_equal(substitute(size, start), 0))
        if not ops.is_const(empty, 0) and not any(structural_equal(empty, other) for other in found):
            found.append(empty)
    nothing: PrimExpr = tir.IntImm("bool", 0)
    for empty in found:
        nothing = ops.logical_or(nothing, empty)
    return nothing


def _beginning(
    realize: st.BlockRealize,
    conditions: tuple[PrimExpr, ...],
    start: Mapping[Any, Any],
    kept: list[st.For],
    nothing: PrimExpr,
) -> st.Stmt | None:
    """The init under `nothing`, over the loops `kept` and the axes that share a loop with the reduction."""
    block = realize.block
    assert block.init is not None
    shared = set(start)
    for loop in kept:  # nor do loops of such bounds go on in front
        if not shared.isdisjoint(_variables(loop.min, loop.extent)):
            shared.add(loop.loop_var)
    values: list[PrimExpr] = []
    whole: list[tuple[tir.Var, Any, PrimExpr]] = []
    for axis, value in zip(block.iter_vars, realize.iter_values):
        if axis.iter_type == "reduce" and axis.dom is not None:
            value = axis.dom.min
        elif not shared.isdisjoint(_variables(value)):
            if axis.dom is None:
                return None
            whole.append((axis.var.copy(), axis.dom, value))
            value = whole[-1][0]
        values.append(substitute(value, start))
    predicate = _predicate([realize.predicate, *conditions], start, values, whole)
    used = _variables(*values, predicate, nothing)
    if not used.isdisjoint(shared):
        return None
    inside = not {loop.loop_var for loop in kept}.isdisjoint(_variables(nothing))
    if inside:
        predicate = ops.logical_and(predicate, nothing)
    once = block.with_fields(body=block.init, init=None, alloc_buffers=(), reads=())
    nest: st.Stmt = st.BlockRealize(tuple(values), predicate, once)
    for var, dom, _ in reversed(whole):
        nest = st.For(var, dom.min, dom.extent, st.ForKind.SERIAL, nest)
    for loop in reversed(kept):
        used |= _variables(loop.min, loop.extent) if loop.loop_var in used else set()
        if loop.loop_var in used:
            fresh = loop.loop_var.copy()
            body = substitute(nest, {loop.loop_var: fresh})
            nest = st.For(fresh, loop.min, loop.extent, st.ForKind.SERIAL, body)
    return nest if inside or ops.is_const(nothing, 1) else st.IfThenElse(nothing, nest)


def _predicate(
    conditions: list[PrimExpr],
    start: Mapping[Any, Any],
    values: list[PrimExpr],
    whole: list[tuple[tir.Var, Any, PrimExpr]],
) -> PrimExpr:
    """The conditions under which the reduction begins: what bounds a shared loop alone is bounded by its axes."""

    def as_axis(node: Node) -> Any:
        return next((var for var, _, value in whole if structural_equal(node, value)), None)

    found: PrimExpr = _TRUE
    carried_apart = {v for _, _, value in whole for v in _variables(value)}
    apart = _variables(*values)
    for condition in conditions:
        for term in ops.conjuncts(condition):
            placed: PrimExpr = rewrite(term, as_axis) if whole else term
            if carried_apart.isdisjoint(_variables(placed) - apart):
                found = ops.logical_and(found, condition_at_start(placed, dict(start), apart))
    return found


def _variables(*exprs: PrimExpr) -> set[tir.Var]:
    return {n for n in post_order(list(exprs)) if isinstance(n, tir.Var)}


def _reads_memory(condition: PrimExpr) -> bool:
    return any(isinstance(n, tir.BufferLoad | tir.Call) for n in post_order(condition))


__all__ = ["EmptyReduction", "begun_if_empty", "empty_reductions"]
