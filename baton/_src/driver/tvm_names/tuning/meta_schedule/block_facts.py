"""What schedule rules ask of a block: its loops by kind, whether it is a result, how much it computes in parallel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import ScheduleError
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.operators import is_const
from baton._src.tir.schedule.handles import BlockRV
from baton._src.tir.schedule.schedule import Schedule

TILED = "meta_schedule.tiling_structure"


def is_root(sch: Schedule, block: BlockRV) -> bool:
    """Whether the block is the root of its kernel."""
    return sch.get_sref(block).parent is None


def is_output(sch: Schedule, block: BlockRV) -> bool:
    """Whether the block writes a result of the kernel."""
    results = set(sch.func.buffer_map.values())
    return any(region.buffer in results for region in sch.get(block).writes)


def is_plainly_bound(sch: Schedule, block: BlockRV) -> bool:
    """Whether each axis is one loop of its own."""
    values = sch.realize(block).iter_values
    return all(isinstance(value, tir.Var) for value in values) and len(set(values)) == len(values)


def loops_around(sch: Schedule, block: BlockRV) -> list[st.For]:
    """The loops between the block and the one that it is in, outermost first; no step of the schedule looks them up."""
    found: list[st.For] = []
    above = sch.get_sref(block).parent
    while above is not None and isinstance(above.stmt, st.For):
        found.append(above.stmt)
        above = above.parent
    return found[::-1]


def is_read(sch: Schedule, block: BlockRV) -> bool:
    """Whether another block reads what the block writes."""
    node = sch.get(block)
    written = {region.buffer for region in node.writes}
    others = (n for n in st.statements(sch.func.body) if isinstance(n, st.Block) and n is not node)
    return any(region.buffer in written for other in others for region in other.reads)


def loop_kind(loop: st.For) -> str:
    """`S` for a loop that only spatial axes of blocks below depend on, `R` for one of reductions, `O` for others."""
    kinds: set[str] = set()
    for realize in (n for n in st.statements(loop.body) if isinstance(n, st.BlockRealize)):
        for axis, value in zip(realize.block.iter_vars, realize.iter_values):
            if loop.loop_var in post_order(value):
                kinds.add(axis.iter_type)
    return {frozenset({"spatial"}): "S", frozenset({"reduce"}): "R", frozenset(): "S"}.get(frozenset(kinds), "O")


def extent_of(loop: st.For) -> int | None:
    """The number of iterations; None if it is open."""
    return loop.extent.value if isinstance(loop.extent, tir.IntImm) else None


def lengths(sch: Schedule, block: BlockRV) -> tuple[int, int] | None:
    """(iterations of its spatial loops, of its reductions); None if one is open."""
    spatial = reduced = 1
    for loop in loops_around(sch, block):
        count = extent_of(loop)
        if count is None:
            return None
        if loop_kind(loop) == "R":
            reduced *= count
        else:
            spatial *= count
    return spatial, reduced


def reuses(sch: Schedule, block: BlockRV) -> bool:
    """Whether the block reads elements for several values of its spatial axes: tiles of it keep them."""
    node = sch.get(block)
    spatial = {axis.var for axis in node.iter_vars if axis.iter_type == "spatial" and not _is_unit(axis)}
    if len(node.writes) != 1 or not node.reads or not is_plainly_bound(sch, block):
        return False
    unused = [spatial.difference(n for part in r.region for n in post_order(part.min)) for r in node.reads]
    return any(unused)


def _is_unit(axis: Any) -> bool:
    return is_const(axis.extent, 1)


def called(node: st.Block) -> set[str]:
    """The names of the operators that the block calls (`tir.exp`)."""
    calls = (n.op for n in post_order(node.body) if isinstance(n, tir.Call))
    return {op.name for op in calls if isinstance(op, Op)}


def indices_of(node: st.Block) -> tuple[list[tuple[PrimExpr, ...]], tuple[PrimExpr, ...]]:
    """Where the block reads, region by region, and where it writes."""
    return [tuple(p.min for p in r.region) for r in node.reads], tuple(p.min for p in node.writes[0].region)


def tried(primitive: Callable[..., Any], *given: Any) -> bool:
    """Apply a primitive; whether it did apply."""
    try:
        primitive(*given)
    except ScheduleError:
        return False
    return True
