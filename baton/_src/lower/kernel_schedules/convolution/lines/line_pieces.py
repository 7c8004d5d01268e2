"""Lines of a convolution's input split into the phases of its stride, a piece at a time.

Element j of phase f is X[j * s + f - b], so tap r reads a run of phase r * d % s of a line, from element r * d // s on.
Phases are made by shuffling whole vectors, all of them from one load of the line. A line is cut into pieces of three
kinds (left edge, middle, right edge) whose borders are known when compiling: zeros around what is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.lower.kernel_schedules.convolution.conv_window import Window
from baton._src.lower.kernel_schedules.shared.affine import joined
from baton._src.lower.kernel_schedules.shared.anchors import Anchored
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    i64,
    index_var,
    local_buffer,
    loop,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.builders.scalar_functions import if_then_else


@dataclass(frozen=True, eq=False)
class LineSource:
    """Where lines come from: what a window sees through `data`, whose last index is the place on the line."""

    window: Window
    data: tir.BufferLoad
    lanes: int

    @property
    def phases(self) -> dict[int, int]:
        """The phases that taps see, and by how much of them a tap sees a later part."""
        shifts: dict[int, int] = {}
        for tap in range(self.window.taps):
            shift, phase = divmod(tap * self.window.dilation, self.window.stride)
            shifts[phase] = max(shifts.get(phase, 0), shift)
        return shifts

    def pitch(self, vectors: int) -> int:
        """Elements of a phase for that many vectors of points."""
        return (vectors + -(-max(self.phases.values()) // self.lanes)) * self.lanes


@dataclass(frozen=True, eq=False)
class Lines:
    """The parts of such a convolution. Axes of the sum but the taps of a line are `inner`, in the order of weights."""

    anchored: Anchored
    origin: Anchored
    """The stages this replaces, as the kernel has them."""
    channel: Axis
    others: tuple[Window, ...]
    """Windows of the output axes before the last."""
    window: Window
    inner: tuple[Axis, ...]
    data: tir.BufferLoad
    weight: tir.BufferLoad
    lanes: int

    @property
    def points(self) -> int:
        size = self.window.axis.size
        assert size is not None
        return size

    @property
    def source(self) -> LineSource:
        return LineSource(self.window, self.data, self.lanes)

    @cached_property
    def flat_weight(self) -> Buffer:
        """The weights with all axes of the sum as one."""
        flat: Buffer = self.weight.buffer
        for _ in self.inner:
            flat = joined(flat, len(self.weight.indices) - len(self.inner) - 1)
        return flat

    @property
    def outer(self) -> tuple[Axis, ...]:
        """The axes whose points are lines of the result."""
        place = self.anchored.stage.spatial.index(self.channel)
        return (*self.anchored.stage.spatial[:place], *(w.axis for w in self.others))


@dataclass(frozen=True)
class Piece:
    """`points` points of a line from `start` on, and `repeats` such pieces one after the other. Places of the line are
    counted from what the first tap of the first point sees; those in [low, high) exist.
    """

    start: int
    points: int
    low: int
    high: int
    repeats: int = 1


@dataclass(frozen=True, eq=False)
class Packed:
    """A piece of the lines that an output line sees, by phases: `pitch` elements each."""

    buffer: Buffer
    pitch: int
    slots: dict[int, int]
    """The place of each phase among those of a line."""

    @property
    def line(self) -> int:
        """Elements from line to line."""
        return (max(self.slots.values()) + 1) * self.pitch

    @staticmethod
    def of(conv: Lines, vectors: int) -> Packed:
        pitch = conv.source.pitch(vectors)
        slots = {phase: n for n, phase in enumerate(sorted(conv.source.phases))}
        lines = product([a.extent for a in conv.inner])
        size = ops.multiply(lines, i64(len(slots) * pitch))
        return Packed(local_buffer("packed", (size,), conv.anchored.stage.buffer.dtype), pitch, slots)

    @property
    def bytes(self) -> int:
        size = self.buffer.shape[0]
        assert isinstance(size, tir.IntImm)
        return size.value * self.buffer.dtype.bits // 8

    def at(self, line: PrimExpr, phase: int, place: int) -> PrimExpr:
        start = ops.multiply(line, i64(self.line))
        return ops.add(start, i64(self.slots[phase] * self.pitch + place))


@dataclass(frozen=True, eq=False)
class Planes(Packed):
    """Lines of which each phase is in a plane of its own, `plane` elements apart. A line is given by where its first
    phase begins; whole vectors are written, past its end too, in the order of lines: planes have room behind the last.
    """

    plane: int

    def at(self, line: PrimExpr, phase: int, place: int) -> PrimExpr:
        return ops.add(line, i64(self.slots[phase] * self.plane + place))


def pieces_of(window: Window, wide: int) -> list[Piece]:
    """An axis of the result divided into pieces of at most `wide` points, with equal adjacent ones merged into one
    entry.
    """
    size = window.axis.size
    assert size is not None
    every = []
    for start in range(0, size, wide):
        points = min(wide, size - start)
        first = start * window.stride - window.begin
        seen = (points - 1) * window.stride + (window.taps - 1) * window.dilation + 1
        low = min(max(0, -first), seen)
        every.append(Piece(start, points, low, max(low, min(seen, window.size - first))))
    alike = [list(run) for _, run in groupby(every, key=lambda p: (p.points, p.low, p.high))]
    return [replace(run[0], repeats=len(run)) for run in alike]


def pack(conv: Lines, piece: Piece, packed: Packed, start: PrimExpr) -> st.Stmt:
    """Split every line of the input that the piece reads into phases."""
    return over_lines(conv, lambda line, where: copied_line(conv.source, piece, packed, line, start, where))


def over_lines(conv: Lines, body: Callable[[PrimExpr, dict[tir.Var, PrimExpr]], st.Stmt]) -> st.Stmt:
    """`body` for every line of the input that an output line sees, given its number and the axes of the sum. Lines are
    numbered in the order of weights; those outside of the input are left out.
    """
    ranges = {w.tap.var: w.range_at(as_int64(w.axis.var)) for w in conv.others if w.tap is not None}
    where: dict[tir.Var, PrimExpr] = {}
    loops: list[tuple[tir.Var, PrimExpr]] = []
    line: PrimExpr = i64(0)
    for axis in conv.inner:
        first, last = ranges.get(axis.var, (i64(0), as_int64(axis.extent)))
        own = index_var(axis.var.name)
        at = ops.add(first, own)
        loops.append((own, ops.subtract(last, first)))
        where[axis.var] = ops.cast(axis.var.dtype, at)
        line = ops.add(ops.multiply(line, as_int64(axis.extent)), at)
    found = body(line, where)
    for own, extent in reversed(loops):
        found = loop(own, extent, found)
    return found


def sees_every_line(conv: Lines) -> bool:
    """Whether no output line sees lines outside of the input."""
    ranges = ((w.range_at(as_int64(w.axis.var)), w.taps) for w in conv.others)
    return all(structural_equal(seen, (i64(0), i64(taps))) for seen, taps in ranges)


def copied_line(
    source: LineSource, piece: Piece, packed: Packed, line: PrimExpr, start: PrimExpr, where: dict[tir.Var, PrimExpr]
) -> st.Stmt:
    """One line by phases: zeros at its borders, between them blocks of `stride` vectors, the last overlapping.

    Tiles compute in whole vectors, so the zeros after the line go as far as those: what the stack happens to hold
    there may be numbers with which processors multiply a hundred times more slowly (subnormal ones).
    """
    window, lanes = source.window, source.lanes
    whole = -(-piece.points // lanes) * lanes
    parts = []
    for phase, shift in source.phases.items():
        first = -((phase - piece.low) // window.stride)  # elements of this phase before `low`, and before `high`
        last = -((phase - piece.high) // window.stride)
        for begin, end in ((0, first), (max(first, last), shift + whole)):
            if begin < end:
                parts.append(_zeros(packed, packed.at(line, phase, begin), end - begin))
    base = ops.subtract(ops.multiply(start, i64(window.stride)), i64(window.begin))
    prefix = tuple(substitute_and_fold(i, where) for i in source.data.indices[:-1])

    def seen(place: int, count: int = 1) -> tir.BufferLoad:
        at = ops.cast(source.data.indices[-1].dtype, ops.add(base, i64(place)))
        return tir.BufferLoad(
            source.data.buffer, (*prefix, at if count == 1 else tir.Ramp(at, ops.const(1, at.dtype), count))
        )

    def masked(place: int) -> PrimExpr:
        """A vector with zeros for the elements after the end of the line."""
        left = piece.high - place
        if left >= lanes:
            return seen(place, lanes)
        none = tir.Broadcast(ops.const(0, packed.buffer.dtype), lanes)
        mask = tir.LT(tir.Ramp(i64(0), i64(1), lanes), tir.Broadcast(i64(left), lanes))
        return if_then_else(mask, seen(place, lanes), none) if left > 0 else none

    block = window.stride * lanes
    if piece.high - piece.low >= block:
        places = [*range(piece.low, piece.high - block, block), piece.high - block]
        parts += [_block(source, packed, line, place, lambda at: seen(at, lanes)) for place in places]
    elif -(-piece.low // window.stride) + lanes <= packed.pitch:
        parts.insert(0, _block(source, packed, line, piece.low, masked))
    else:
        for place in range(piece.low, piece.high):
            element, phase = divmod(place, window.stride)
            if phase in packed.slots:
                parts.append(st.BufferStore(packed.buffer, seen(place), (packed.at(line, phase, element),)))
    return sequence(*parts)


def _block(source: LineSource, packed: Packed, line: PrimExpr, place: int, seen: Callable[[int], PrimExpr]) -> st.Stmt:
    """Split the vectors from `place` on, as many as there are phases."""
    stride, lanes = source.window.stride, source.lanes
    bound: list[tuple[tir.Var, PrimExpr]] = []

    def named(value: PrimExpr) -> tir.Var:
        bound.append((tir.Var(f"v{len(bound)}", value.dtype), value))
        return bound[-1][0]

    vectors = [named(seen(place + n * lanes)) for n in range(stride)]
    stores = []
    for phase in packed.slots:
        offset = (phase - place) % stride
        taken = _every(vectors, offset, lanes, named)
        at = packed.at(line, phase, (place + offset) // stride)
        stores.append(st.BufferStore(packed.buffer, taken, (tir.Ramp(at, i64(1), lanes),)))
    body = sequence(*stores)
    for var, value in reversed(bound):
        body = st.LetStmt(var, value, body)
    return body


def _every(vectors: Sequence[tir.Var], offset: int, lanes: int, named: Callable[[PrimExpr], tir.Var]) -> PrimExpr:
    """Elements offset, offset + s, ... of s vectors side by side."""
    stride = len(vectors)
    found = vectors[0]
    wanted = [offset + stride * lane for lane in range(lanes)]
    for number, vector in enumerate(vectors):
        if number == 0:
            continue
        # So far, `found` has what earlier vectors gave, at its lane; at first it is the first vector as it was.
        picks = []
        for lane, place in enumerate(wanted):
            owner, there = divmod(place, lanes)
            early = place if number == 1 else lane
            picks.append(lanes + there if owner == number else min(early, lanes - 1))
        found = named(tir.Shuffle((found, vector), tuple(picks)))
    return found


def _zeros(packed: Packed, at: PrimExpr, count: int) -> st.Stmt:
    lane = index_var("v")
    return loop(
        lane, count, st.BufferStore(packed.buffer, ops.const(0, packed.buffer.dtype), (ops.add(at, lane),)), VECTORIZED
    )
