"""Whether a block stores all of a box: what copies the box afterwards copies nothing that nobody made.

for i in 8: B[i] = ..                   all of B[0:8]
for i in 4: B[i * 2] = ..               not all of B[0:7]
for i in 8: if A[i] > 0: B[i] = ..      perhaps not all of B[0:8]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import by_pointer, through_views
from baton._src.tir.analysis.same_value import same_values
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.conditions.coverage import partial_axes, require_unconditional, require_whole
from baton._src.tir.schedule.conditions.stored_ranges import domain, ends
from baton._src.tir.schedule.tree import path_to, refuse, simplify


def require_filled(
    realize: st.BlockRealize, buffer: Buffer, box: Sequence[Range], place: st.Stmt, around: Mapping[tir.Var, Range]
) -> None:
    """Require that the block stores the whole box of the buffer while `place` runs once, in loops and axes `around`; or
    each element that it ever stores, if `place` is the block around everything.
    """
    require_unconditional(realize)
    block = realize.block
    body = through_views(block.body, block.match_buffers)
    stores = [n.indices for n in st.statements(body) if isinstance(n, st.BufferStore) and n.buffer is buffer]
    one = bool(stores) and all(same_values(indices, stores[0]) for indices in stores)
    at = _at_axes(stores[0], box, block) if one else None
    if at is None or buffer in by_pointer(block) or not _always_stores(body, buffer):
        raise _not_filled(block, buffer)
    if isinstance(place, st.Block):
        return require_whole(place, realize, [axis for axis in block.iter_vars if axis.iter_type == "spatial"])
    inside = [n for n in path_to(place, realize) if isinstance(n, st.For)]
    bound: dict[Any, Any] = {axis.var: value for axis, value in zip(block.iter_vars, realize.iter_values)}
    wanted: dict[IterVar, Range] = {}
    analyzer = Analyzer.over(around)
    for axis, (rest, part) in at.items():
        first = simplify(ops.subtract(part.min, substitute(rest, bound)))
        wanted[axis] = Range(ops.cast(axis.var.dtype, first), ops.cast(axis.var.dtype, part.extent))
        (start, end), (low, high) = ends(wanted[axis]), ends(domain(axis))
        if not (analyzer.prove(start >= low) and analyzer.prove(end <= high)):
            raise _not_filled(block, buffer)
    if partial_axes(realize, wanted, {n.loop_var: Range(n.min, n.extent) for n in inside}):
        raise _not_filled(block, buffer)


def _not_filled(block: st.Block, buffer: Buffer) -> Exception:
    return refuse(f"block {block.name_hint} does not write a whole box of {buffer.name} here")


def _at_axes(
    indices: Sequence[PrimExpr], box: Sequence[Range], block: st.Block
) -> dict[IterVar, tuple[PrimExpr, Range]] | None:
    """The axis that each index is, with what is added to it that the block does not change, and the part of the box
    there; None for other indices. Indices without an axis are those of one place.
    """
    axes = {axis.var: axis for axis in block.iter_vars}
    found: dict[IterVar, tuple[PrimExpr, Range]] = {}
    for index, part in zip(indices, box):
        mentioned = [n for n in dict.fromkeys(post_order(index)) if n in axes]
        if not mentioned and ops.is_const(part.extent, 1):
            continue
        if len(mentioned) != 1 or axes[mentioned[0]] in found:
            return None
        rest = simplify(ops.subtract(index, ops.cast(index.dtype, mentioned[0])))
        if mentioned[0] in post_order(rest):
            return None
        found[axes[mentioned[0]]] = rest, part
    return found


def _always_stores(body: st.Stmt, buffer: Buffer) -> bool:
    """Whether a block stores in the buffer each time, whatever conditions in it say."""
    match body:
        case st.BufferStore():
            return body.buffer is buffer
        case st.SeqStmt(seq=parts):
            return any(_always_stores(part, buffer) for part in parts)
        case st.IfThenElse(then_case=yes, else_case=no):
            return no is not None and _always_stores(yes, buffer) and _always_stores(no, buffer)
        case st.For(extent=tir.IntImm(value=count), body=inside):
            return count > 0 and _always_stores(inside, buffer)
        case st.LetStmt() | st.AttrStmt() | st.AssertStmt() | st.Allocate() | st.DeclBuffer():
            return _always_stores(body.body, buffer)
        case _:
            return False
