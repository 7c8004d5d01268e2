"""Whether the results of a block may be copied: it must cover all of its axes' domains, and start from its own
initialisation.

After `loop_partition` a block covers only a part; primitives that iterate over its axes again (copies, two-step
reductions) would compute more than it did. After `decompose_reduction` it accumulates into values that another block
stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import through_views
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.tree import path_to, realizes, refreshed, refuse
from baton._src.tir.text.printer import node_text
from baton._src.values.dtype import INT64


def require_whole(root: st.Stmt, realize: st.BlockRealize, axes: Sequence[IterVar]) -> None:
    """Refuse a block that does not run for every value of these axes."""
    require_unconditional(realize)
    extents: dict[tir.Var, PrimExpr] = {}
    for item in path_to(root, realize)[:-1]:
        if isinstance(item, st.For):
            extents[item.loop_var] = item.extent
        elif isinstance(item, st.Block):
            extents |= {axis.var: axis.extent for axis in item.iter_vars}
    for used, members in _groups(realize, axes):
        size = _product([axis.extent for axis in members])
        if not all(Analyzer().prove(size <= count) for count in _runs(realize, used, extents)):
            raise refuse(
                f"block {realize.block.name_hint} runs for a part of {', '.join(a.var.name for a in members)} only",
                help="use the primitive before loop_partition",
            )


def require_once(realize: st.BlockRealize, loops: Sequence[st.For]) -> None:
    """Refuse a block that the loops run more than once for the same values of its axes: it would accumulate again."""
    extents = {item.loop_var: item.extent for item in loops}
    groups = [group for group in _groups(realize, realize.block.iter_vars) if group[0] & set(extents)]
    idle = set(extents).difference(*(used for used, _ in groups))
    sizes: list[tuple[set[tir.Var], PrimExpr]] = [
        *(({var}, tir.IntImm(INT64, 1)) for var in extents if var in idle),
        *((used, _product([axis.extent for axis in members])) for used, members in groups),
    ]
    for used, size in sizes:
        if not any(Analyzer().prove(count <= size) for count in _runs(realize, used, extents)):
            around = ", ".join(v.name for v in extents if v in used)
            raise refuse(
                f"the loops over {around} run block {realize.block.name_hint} more than once for the same axes",
                help="decompose_reduction at a loop inside of those, or before compute_at",
            )


def _runs(realize: st.BlockRealize, used: set[tir.Var], extents: Mapping[tir.Var, PrimExpr]) -> list[PrimExpr]:
    """Bounds of how often the loops among `used` run the block: their extents, and what its conditions allow."""
    return [_product([extents[v] for v in extents if v in used]), *_allowed(realize.predicate, used)]


def _allowed(predicate: PrimExpr, loops: set[tir.Var]) -> list[PrimExpr]:
    """How many iterations of the loops each upper bound among the conditions lets run."""
    found: list[PrimExpr] = []
    for part in ops.conjuncts(predicate):
        if isinstance(part, tir.LT) and _variables(part.a) & loops:
            start: dict[tir.Var, PrimExpr] = {v: tir.IntImm(v.dtype, 0) for v in loops}
            found.append(ops.cast(INT64, ops.subtract(part.b, substitute(part.a, start))))
    return found


def require_unconditional(realize: st.BlockRealize) -> None:
    """Refuse a block whose condition excludes more than what lies outside its axes' domains."""
    parts = own_conditions(realize)
    if parts:
        condition = node_text(parts[0])
        raise refuse(f"block {realize.block.name_hint} runs under the condition {condition} only, and makes but a part")


def own_conditions(realize: st.BlockRealize) -> list[PrimExpr]:
    """The conditions of a block beyond those that keep its axes in their domains, as conditions on loops."""
    pairs = list(zip(realize.iter_values, realize.block.iter_vars))
    groups = _groups(realize, realize.block.iter_vars)
    found: list[PrimExpr] = []
    for part in ops.conjuncts(realize.predicate):
        used = _variables(part)
        sizes = [_product([a.extent for a in members]) for loops, members in groups if loops & used]
        upper = isinstance(part, tir.LT) and any(_same(part.b, size) for size in sizes)
        if not upper and not any(_is_bound(part, value, axis) for value, axis in pairs):
            found.append(part)
    return found


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


def _is_bound(condition: PrimExpr, value: PrimExpr, axis: IterVar) -> bool:
    """Whether the condition says that an axis stays below the end of its domain, or does not go below its start."""
    assert axis.dom is not None
    match condition:
        case tir.LT(a=a, b=b):
            end = ops.add(axis.dom.min, axis.dom.extent)
            return _same(ops.subtract(b, a), ops.subtract(end, value))
        case tir.GE(a=a, b=b):
            return _same(ops.subtract(a, b), ops.subtract(value, axis.dom.min))
        case _:
            return False


def _groups(realize: st.BlockRealize, axes: Sequence[IterVar]) -> list[tuple[set[tir.Var], list[IterVar]]]:
    """Axes that share loops, because these were fused, and the variables in their values."""
    groups: list[tuple[set[tir.Var], list[IterVar]]] = []
    for axis, value in zip(realize.block.iter_vars, realize.iter_values):
        if axis not in axes:
            continue
        used, members = _variables(value), [axis]
        for group in [g for g in groups if g[0] & used]:
            groups.remove(group)
            used, members = used | group[0], [*group[1], *members]
        groups.append((used, members))
    return groups


def _variables(expr: PrimExpr) -> set[tir.Var]:
    return {n for n in post_order(expr) if isinstance(n, tir.Var)}


def _same(a: PrimExpr, b: PrimExpr) -> bool:
    return Analyzer().can_prove_equal(ops.cast(INT64, a), ops.cast(INT64, b))


def _product(extents: Sequence[PrimExpr]) -> PrimExpr:
    total: PrimExpr = tir.IntImm(INT64, 1)
    for extent in extents:
        total = ops.multiply(total, ops.cast(INT64, extent))
    return total
