"""Whether the results of a block may be copied: it must cover all of its axes' domains, and start from its own
initialisation.

After `loop_partition` a block covers only a part; primitives that iterate over its axes again (copies, two-step
reductions) would compute more than it did. After `decompose_reduction` it accumulates into values that another block
stored.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order
from baton._src.support.disjoint_sets import overlapping
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import through_views
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.conditions.axis_values import Loops, are_distinct, take_all
from baton._src.tir.schedule.conditions.stored_ranges import domain
from baton._src.tir.schedule.tree import path_to, realizes, refreshed, refuse
from baton._src.tir.text.printer import node_text
from baton._src.values.dtype import INT64

_MOST_FUSED = 4
"""Axes of more than this are taken as digits in their own order only."""


def require_whole(root: st.Stmt, realize: st.BlockRealize, axes: Sequence[IterVar]) -> None:
    """Refuse a block that does not run for every value of these axes."""
    require_unconditional(realize)
    loops: dict[tir.Var, Range] = {}
    for item in path_to(root, realize)[:-1]:
        if isinstance(item, st.For):
            loops[item.loop_var] = Range(item.min, item.extent)
        elif isinstance(item, st.Block):
            loops |= {axis.var: domain(axis) for axis in item.iter_vars}
    part = partial_axes(realize, {axis: domain(axis) for axis in axes}, loops)
    if part:
        raise refuse(
            f"block {realize.block.name_hint} runs for a part of {', '.join(a.var.name for a in part)} only",
            help="use the primitive before loop_partition",
        )


def partial_axes(realize: st.BlockRealize, wanted: Mapping[IterVar, Range], loops: Loops) -> list[IterVar]:
    """Axes for which the loops may not run the block for all that is wanted of their domains; none: they do."""
    values = dict(zip(realize.block.iter_vars, realize.iter_values))
    for used, members in _groups(realize):
        told = [part for part in ops.conjuncts(realize.predicate) if _variables(part) & used]
        ranges = [wanted.get(axis, domain(axis)) for axis in members]
        if not wanted.keys().isdisjoint(members) and not take_all([values[a] for a in members], ranges, loops, told):
            return members
    return []


def require_once(realize: st.BlockRealize, loops: Sequence[st.For]) -> None:
    """Refuse a block that the loops run more than once for the same values of its axes: it would accumulate again."""
    around = {item.loop_var: Range(item.min, item.extent) for item in loops}
    told = [part for part in ops.conjuncts(realize.predicate) if _variables(part) & around.keys()]
    if not are_distinct(realize.iter_values, around, told):
        raise refuse(
            f"the loops over {', '.join(v.name for v in around)} run block {realize.block.name_hint} more than once"
            " for the same axes",
            help="decompose_reduction at a loop inside of those, or before compute_at",
        )


def require_unconditional(realize: st.BlockRealize) -> None:
    """Refuse a block whose condition excludes more than what lies outside its axes' domains."""
    parts = own_conditions(realize)
    if parts:
        condition = node_text(parts[0])
        raise refuse(f"block {realize.block.name_hint} runs under the condition {condition} only, and makes but a part")


def own_conditions(realize: st.BlockRealize) -> list[PrimExpr]:
    """The conditions of a block beyond those that keep its axes in their domains, as conditions on loops."""
    pairs = list(zip(realize.iter_values, realize.block.iter_vars))
    groups = [members for _, members in _groups(realize) if len(members) > 1]
    found: list[PrimExpr] = []
    for part in ops.conjuncts(realize.predicate):
        if not any(_is_bound(part, value, domain(axis)) for value, axis in pairs):
            if not any(_is_bound_of_fused(part, realize, members) for members in groups):
                found.append(part)
    return found


def _is_bound_of_fused(condition: PrimExpr, realize: st.BlockRealize, members: Sequence[IterVar]) -> bool:
    """Whether the condition is one of the number that the axes are digits of: of the loop that they share."""
    values = dict(zip(realize.block.iter_vars, realize.iter_values))
    for order in itertools.permutations(members) if len(members) <= _MOST_FUSED else (members,):
        number, size = ops.const(0, INT64), ops.const(1, INT64)
        for axis in reversed(order):
            number = ops.add(number, ops.multiply(ops.cast(INT64, values[axis]), size))
            size = ops.multiply(size, ops.cast(INT64, axis.extent))
        if _is_bound(condition, number, Range(ops.const(0, INT64), size)):
            return True
    return False


def require_own_start(root: st.Stmt, realize: st.BlockRealize, buffer: Buffer) -> None:
    """Refuse a block that accumulates into existing values of the buffer, or whose values another block accumulates
    into: copies begin empty.
    """
    name = realize.block.name_hint
    if realize.block.init is None and _loads(realize.block, buffer):
        raise refuse(
            f"block {name} accumulates into {buffer.name}: a copy would begin empty",
            help="make the copy before decompose_reduction",
        )
    for other in realizes(root):
        store = through_views(other.block.body, other.block.match_buffers)
        updates = isinstance(store, st.BufferStore) and store.buffer is buffer and other.block.init is None
        if updates and other is not realize and _loads(other.block, buffer):
            raise refuse(f"block {other.block.name_hint} accumulates into what block {name} writes to {buffer.name}")


def _loads(block: st.Block, buffer: Buffer) -> bool:
    """Whether a block without initialisation reads from the buffer, whatever it states of it."""
    return any(region.buffer is buffer for region in refreshed(block).reads)


def _is_bound(condition: PrimExpr, value: PrimExpr, whole: Range) -> bool:
    """Whether the condition says that a value stays below the end of a domain, or does not go below its start."""
    match condition:
        case tir.LT(a=a, b=b):
            end = ops.add(whole.min, whole.extent)
            return _same(_gap(b, a), _gap(end, value))
        case tir.GE(a=a, b=b):
            return _same(_gap(a, b), _gap(value, whole.min))
        case _:
            return False


def _gap(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return ops.subtract(ops.cast(INT64, a), ops.cast(INT64, b))


def _groups(realize: st.BlockRealize) -> list[tuple[set[tir.Var], list[IterVar]]]:
    """Axes that share loops, because these were fused, and the variables in their values."""
    axes, used = realize.block.iter_vars, [_variables(value) for value in realize.iter_values]
    return [(set().union(*(used[n] for n in group)), [axes[n] for n in group]) for group in overlapping(used)]


def _variables(expr: PrimExpr) -> set[tir.Var]:
    return {n for n in post_order(expr) if isinstance(n, tir.Var)}


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    return Analyzer().can_prove_equal(a, b)
