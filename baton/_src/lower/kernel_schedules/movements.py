"""Stages that move elements from one axis to another, and by what: squares of vectors, or vectors interleaved.

    B[.., i, .., j] = f(A[.., j, .., i], ..)

The loads are contiguous along i, which is called `across` here, and the result is along j, `along`. `transpose` makes
loops of a movement.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.shared.affine import depends, merge_pair, step
from baton._src.lower.kernel_schedules.shared.flat_index_digits import with_plain_indices
from baton._src.lower.kernel_schedules.shared.register_shuffles import INTERLEAVED
from baton._src.lower.kernel_schedules.shared.reshaped import over_source_axes
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Stage
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import definition
from baton._src.values.dtype import DataType

WIDTHS = {8, 16, 32, 64}
"""Bits of elements. A square has as many vectors as one has elements, which have to be registers; so those of less than
32 bits fill a part of each.
"""


@dataclass(frozen=True)
class Movement:
    """A stage whose value is computed from `loads`, each contiguous along `across`; the result is along `along`."""

    stage: Stage
    loads: tuple[tir.BufferLoad, ...]
    across: Axis
    along: Axis
    lanes: int

    @property
    def is_plain(self) -> bool:
        """Whether elements are only moved."""
        return self.stage.value is self.loads[0]

    @property
    def is_interleaved(self) -> bool:
        """Whether the result has so few neighbours along `along` that vectors of them are interleaved."""
        beside = self.across is self.stage.spatial[-2] and self.lanes >= 4
        return self.is_plain and self.along.size in INTERLEAVED and beside

    @property
    def others(self) -> tuple[Axis, ...]:
        return tuple(a for a in self.stage.spatial if a is not self.across and a is not self.along)

    def source(self, load: tir.BufferLoad, across: PrimExpr, along: PrimExpr) -> tir.BufferLoad:
        """The element (or vector) of one load at the given positions on the two axes."""
        inner = {self.along.var: ops.cast(self.along.var.dtype, along)}
        indices = [substitute_and_fold(i, inner) for i in load.indices[:-1]]
        return tir.BufferLoad(load.buffer, (*indices, across))

    def value(self, across: PrimExpr, along: PrimExpr) -> PrimExpr:
        """The value at the given positions."""
        places = {a.var: ops.cast(a.var.dtype, place) for a, place in ((self.across, across), (self.along, along))}
        found: PrimExpr = substitute_and_fold(self.stage.value, places)
        return found

    def store(self, value: PrimExpr, across: PrimExpr, along: PrimExpr) -> st.Stmt:
        places = {self.across: across, self.along: along}
        indices = tuple(places.get(a, a.var) for a in self.stage.spatial)
        return st.BufferStore(self.stage.buffer, value, indices)


def prepared(stage: Stage) -> Stage:
    """The stage in the form in which movements are recognised: over the axes of its source, as long as they can be."""
    return _with_long_axes(over_source_axes(with_plain_indices(_as_bytes(stage))))


def _as_bytes(stage: Stage) -> Stage:
    """A stage that only moves truth values, as one that moves the bytes they are in memory: those fill registers."""
    load = stage.value
    if not isinstance(load, tir.BufferLoad) or not load.buffer.dtype.is_bool:
        return stage
    source, result = (buffer.with_fields(dtype=DataType("uint8")) for buffer in (load.buffer, stage.buffer))
    return replace(stage, buffer=result, value=tir.BufferLoad(source, load.indices))


def _with_long_axes(stage: Stage) -> Stage:
    """The stage with axes merged that are adjacent in both source and result: short axes cannot be sides of squares."""
    place = 0
    while place + 1 < len(stage.spatial):
        merged = merge_pair(stage, stage.spatial[place], stage.spatial[place + 1])
        if merged is None or stage.reduce:
            place += 1
        else:
            stage = merged
    return stage


def movement(stage: Stage, target: Target) -> Movement | Declined:
    """What a prepared stage moves, or why it is no movement of whole vectors."""
    if stage.reduce or len(stage.spatial) < 2 or stage.buffer.strides or not _is_computed_at_once(stage.value):
        return Declined("no movement of elements")
    along = stage.spatial[-1]
    loads = tuple(_strided_loads(stage, along))
    if not loads:
        return Declined("no source is contiguous along another axis")
    across = next((a for a in stage.spatial[:-1] if a.var is loads[0].indices[-1]), None)
    if across is None or any(_is_unlike(load, across) for load in loads):
        return Declined("the sources are not contiguous along one other axis")
    bits = {load.buffer.dtype.bits for load in loads}
    if len(bits) > 1 or not bits <= WIDTHS or any(load.buffer.strides for load in loads):
        return Declined("not made of registers")
    lanes = _whole_vector(across, target.lanes(max(32, *bits)))
    move = Movement(stage, loads, across, along, lanes)
    if move.is_interleaved:
        return move
    move = replace(move, lanes=_whole_vector(along, lanes))
    return move if move.lanes >= 4 else Declined("smaller than a square of registers")


def _is_computed_at_once(value: PrimExpr) -> bool:
    """Whether all that is in a value may be evaluated wherever the value is."""
    nodes = [n for n in post_order(value) if isinstance(n, (tir.Call, tir.Let))]
    rows = [definition(n.op) if isinstance(n, tir.Call) else None for n in nodes]
    return all(row is not None and row.numpy is not None and not row.lazy for row in rows)


def _strided_loads(stage: Stage, along: Axis) -> Iterator[tir.BufferLoad]:
    """The loads, each once, that would take single elements from memory along the last axis."""
    seen: list[tir.BufferLoad] = []
    for load in stage.loads:
        if step(load, along) not in (0, 1) and not any(is_same(load, other) for other in seen):
            seen.append(load)
            yield load


def is_same(load: tir.BufferLoad, other: tir.BufferLoad) -> bool:
    """Whether two loads read the same elements."""
    return load.buffer is other.buffer and structural_equal(load.indices, other.indices)


def _is_unlike(load: tir.BufferLoad, across: Axis) -> bool:
    """Whether a load is not contiguous along `across`, or its place depends on other data."""
    if not load.indices or load.indices[-1] is not across.var:
        return True
    nodes = post_order(list(load.indices))
    return any(isinstance(n, tir.BufferLoad) for n in nodes) or any(depends(i, across.var) for i in load.indices[:-1])


def _whole_vector(axis: Axis, lanes: int) -> int:
    """The longest vector, of at most `lanes` elements, that fits into an axis."""
    return lanes if axis.size is None else min(lanes, 1 << (max(1, axis.size).bit_length() - 1))
