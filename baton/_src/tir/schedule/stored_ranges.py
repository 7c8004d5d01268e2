"""What a block stores, and whether that is all that a reader of it goes over.

A padding goes over more than the block it reads: run only where that block stores, it would leave out its border.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iter_affine_map import detect_iter_map
from baton._src.tir.expr import IterVar, literal
from baton._src.tir.schedule.tree import refuse
from baton._src.values.dtype import INT64


def stored(block: st.Block, store: st.BufferStore) -> list[Range]:
    """What each index of a block's store goes over; refused if it may leave out places between."""
    found = detect_iter_map(store.indices, {axis.var: domain(axis) for axis in block.iter_vars})
    pieces = [piece for index in found.indices for piece in index.args]
    if found.errors or not all(ops.is_const(piece.scale, 1) for piece in pieces):
        raise refuse(f"block {block.name_hint} may leave out elements of {store.buffer.name}")
    one = literal(1, INT64)
    return [Range(index.base, index.args[0].extent if index.args else one) for index in found.indices]


def require_within(axis: IterVar, name: str, whole: Range, producer: st.Block) -> None:
    """Refuse block `name` where an axis of it goes over more than the `whole` that its producer stores there."""
    (low, high), (start, end) = ends(whole), ends(domain(axis))
    if not (ordered(low, start) and ordered(end, high)):
        raise refuse(
            f"block {name} goes over {axis.var.name} from {start} to {end}, but block {producer.name_hint} stores from"
            f" {low} to {high}: what is computed of other elements would be lost",
            help=f"inline or move {producer.name_hint} instead, or decompose_padding before",
        )


def domain(axis: IterVar) -> Range:
    """Where an axis of a block goes."""
    assert axis.dom is not None
    return axis.dom


def ends(over: Range) -> tuple[PrimExpr, PrimExpr]:
    """The first value, and the one behind the last."""
    simplify = Analyzer().simplify
    return simplify(over.min), simplify(ops.add(over.min, over.extent))


def ordered(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether a <= b for certain, in whatever widths they are."""
    if a.dtype != b.dtype:
        a, b = ops.cast(INT64, a), ops.cast(INT64, b)
    return Analyzer().prove(a <= b)
