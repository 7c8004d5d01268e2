"""The range that a block stores, and whether it covers what a reader iterates over.

A padding iterates over more than its producer stores: restricted to that range, it would omit its border.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.vector_rows import by_lane, runs_past_row
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iterators.iter_affine_map import detect_iter_map
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.expr import IterVar, literal
from baton._src.tir.schedule.tree import refuse
from baton._src.values.dtype import INT64


def stored(block: st.Block, store: st.BufferStore) -> list[Range]:
    """The range of each index of a block's store; refused if it may skip elements."""
    indices, lanes = by_lane(store.buffer, store.indices)
    if runs_past_row(store.buffer, store.indices):
        raise _leaves_out(block, store.buffer)
    return _reached(block, store.buffer, indices, lanes)


def stored_boxes(block: st.Block, region: BufferRegion) -> list[Range]:
    """The same of a block that writes a box for each value of its axes."""
    inside = {tir.Var(f"r{n}", part.extent.dtype): part.extent for n, part in enumerate(region.region)}
    indices = [ops.add(part.min, ops.cast(part.min.dtype, var)) for part, var in zip(region.region, inside)]
    return _reached(block, region.buffer, indices, {v: Range(literal(0, v.dtype), e) for v, e in inside.items()})


def _reached(block: st.Block, buffer: Buffer, indices: Sequence[PrimExpr], inside: dict[tir.Var, Range]) -> list[Range]:
    found = detect_iter_map(indices, {axis.var: domain(axis) for axis in block.iter_vars} | inside)
    pieces = [piece for index in found.indices for piece in index.args]
    if found.errors or not all(ops.is_const(piece.scale, 1) for piece in pieces):
        raise _leaves_out(block, buffer)
    one = literal(1, INT64)
    return [Range(index.base, index.args[0].extent if index.args else one) for index in found.indices]


def _leaves_out(block: st.Block, buffer: Buffer) -> Exception:
    return refuse(f"block {block.name_hint} may leave out elements of {buffer.name}")


def require_within(axis: IterVar, name: str, whole: Range, producer: st.Block) -> None:
    """Refuse block `name` if one of its axes exceeds the `whole` that its producer stores there."""
    (low, high), (start, end) = ends(whole), ends(domain(axis))
    if not (ordered(low, start) and ordered(end, high)):
        raise refuse(
            f"block {name} goes over {axis.var.name} from {start} to {end}, but block {producer.name_hint} stores from"
            f" {low} to {high}: what is computed of other elements would be lost",
            help=f"inline or move {producer.name_hint} instead, or decompose_padding before",
        )


def domain(axis: IterVar) -> Range:
    """The range of an axis of a block."""
    assert axis.dom is not None
    return axis.dom


def ends(over: Range) -> tuple[PrimExpr, PrimExpr]:
    """The first value, and the one after the last."""
    simplify = Analyzer().simplify
    return simplify(over.min), simplify(ops.add(over.min, over.extent))


def ordered(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether a <= b provably, whatever their widths."""
    if a.dtype != b.dtype:
        a, b = ops.cast(INT64, a), ops.cast(INT64, b)
    return Analyzer().prove(a <= b)
