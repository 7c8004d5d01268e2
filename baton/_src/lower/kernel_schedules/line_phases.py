"""Convolutions of few channels (channels first) over whole lines: what the taps of a line share is packed once.

    Y[n, oc, .., i] = sum over k, r of W[oc, k, r] * X[n, .., i * s + r * d - b]        k: (ic, kh), r: taps of a line

`conv2d` packs the line anew for each tap, which takes as long as six output channels do: much, where there are 32. Here
it is taken apart once into its phases: element j of phase f is X[j * s + f - b], so that what tap r sees is a run of
phase r * d % s, from element r * d // s on. Phases fall out of whole vectors by shuffles, all of them from one load of
the line. A line is cut into pieces of as many vectors as the tiles are wide; each piece is of a kind (at the left edge,
between, at the right edge) whose borders are known when compiling: they are zeros around what is copied.

It pays where the points of a line nearly fill their vectors: unlike the panels of `conv2d`, pieces end with their line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.affine import depends, joined
from baton._src.lower.kernel_schedules.anchors import Anchored, find_anchor, surrounded
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.conv2d import roles_of
from baton._src.lower.kernel_schedules.conv_window import Window, read_windows, with_border_inside
from baton._src.lower.kernel_schedules.inline import inline_elementwise
from baton._src.lower.kernel_schedules.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    parallel_rows,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.lower.kernel_schedules.tiles import Accumulators, tile_shape
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.passes.tir.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

BY_TAPS, BY_PHASES = 6.0, 1.5
"""What packing takes in multiply-adds of output channels, by `conv2d` and here."""
MOST_TAPS = 8
"""Taps of a line, which are written out."""
MOST_STRIDE = 4
"""Phases up to which whole vectors and shuffles are the way to take a line apart."""
MOST_VECTORS = 8
"""Of a tile's width."""


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
    def phases(self) -> dict[int, int]:
        """The phases that taps see, and by how much of them a tap sees a later part."""
        shifts: dict[int, int] = {}
        for tap in range(self.window.taps):
            shift, phase = divmod(tap * self.window.dilation, self.window.stride)
            shifts[phase] = max(shifts.get(phase, 0), shift)
        return shifts

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

    @staticmethod
    def of(conv: Lines, vectors: int) -> Packed:
        extra = max(conv.phases.values())
        pitch = (vectors + -(-extra // conv.lanes)) * conv.lanes
        slots = {phase: n for n, phase in enumerate(sorted(conv.phases))}
        lines = product([a.extent for a in conv.inner])
        size = ops.multiply(lines, i64(len(slots) * pitch))
        return Packed(local_buffer("packed", (size,), conv.anchored.stage.buffer.dtype), pitch, slots)

    def at(self, line: PrimExpr, phase: int, place: int) -> PrimExpr:
        start = ops.multiply(line, i64(len(self.slots) * self.pitch))
        return ops.add(start, i64(self.slots[phase] * self.pitch + place))


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    found = _read(inline_elementwise(kernel), target)
    if isinstance(found, Declined):
        return found
    kernel, conv = found
    shape = _tile(conv, target)
    packed = _bytes(conv, shape[0])
    if packed > target.cpu.l2_bytes // 4:
        return Declined("too many channels to keep all they see of a line in cache")
    return kernel.rebuilt(surrounded(kernel, conv.origin, _emit(conv, shape, target), target))


# ---------------------------------------------------------------------------------------------------- reading


def _read(kernel: Kernel, target: Target) -> tuple[Kernel, Lines] | Declined:
    found = find_anchor(kernel, lambda s: not isinstance(roles_of(s), Declined))
    if found is None:
        return Declined("no stage is a convolution with channels first")
    roles = roles_of(found.stage)
    assert not isinstance(roles, Declined)
    channel, points, weight, _ = roles
    kernel, stage = with_border_inside(kernel, found.stage)
    anchored = Anchored(stage, found.epilogue)
    value = stage.value
    assert isinstance(value, tir.Mul)
    data = value.b if value.a is weight else value.a
    seen = read_windows(stage, data, points)
    if seen is None or not isinstance(weight, tir.BufferLoad):
        return Declined("the window's borders are none that are known, or a factor is converted")
    load, windows = seen
    lanes = tile_shape(target, stage.buffer.dtype).lanes
    conv = Lines(anchored, anchored, channel, tuple(windows[:-1]), windows[-1], stage.reduce[:-1], load, weight, lanes)
    reason = _reason_against(conv, stage)
    return (kernel, conv) if reason is None else Declined(reason)


def _reason_against(conv: Lines, stage: Stage) -> str | None:
    window, load = conv.window, conv.data
    dtype = stage.buffer.dtype
    if not dtype.is_float or dtype.bits < 32 or load.dtype != dtype or conv.weight.dtype != dtype:
        return "elements are converted"
    if window.tap is not stage.reduce[-1] or not 2 <= window.taps <= MOST_TAPS or window.stride > MOST_STRIDE:
        return "taps of a line share nothing, or are too many"
    if window.axis.size is None or conv.channel.size is None or any(a.size is None for a in conv.inner):
        return "symbolic sizes"
    apart = all(not depends(i, window.axis.var) for i in load.indices[:-1])
    if load.buffer.strides or conv.weight.buffer.strides or not apart:
        return "lines are not contiguous"
    full = window.axis.size / (-(-window.axis.size // conv.lanes) * conv.lanes)
    channels = conv.channel.size
    if window.axis.size <= conv.lanes or full < (channels + BY_PHASES) / (channels + BY_TAPS):
        return "short lines, or more channels than packing matters for"
    return None


# ----------------------------------------------------------------------------------------------------- tiling


def _tile(conv: Lines, target: Target) -> tuple[int, int]:
    """(vectors, rows) of a tile: those that take the fewest steps, by arithmetic and by loads."""
    registers = target.cpu.vector_registers
    vectors, channels = -(-conv.points // conv.lanes), conv.channel.size
    assert channels is not None

    def rows_for(wide: int) -> int:
        """As many as there are registers for, or fewer if that leaves none."""
        most = max(1, (registers - 1 - wide) // wide)
        return next((rows for rows in range(most, most // 2, -1) if channels % rows == 0), most)

    def cost(wide: int) -> float:
        pieces, tiles = -(-vectors // wide), -(-channels // rows_for(wide))
        return pieces * (channels * wide + 0.5 * (channels + tiles * wide))

    widest = range(1, min(MOST_VECTORS, vectors) + 1)
    wide = tuned("piece_vectors", min(widest, key=lambda n: (cost(n), -n)), widest)
    return wide, tuned("piece_rows", rows_for(wide), range(1, max(1, (registers - 1 - wide) // wide) + 1))


def _bytes(conv: Lines, vectors: int) -> int:
    size = Packed.of(conv, vectors).buffer.shape[0]
    assert isinstance(size, tir.IntImm)
    return size.value * conv.lanes


def _pieces(conv: Lines, vectors: int) -> list[Piece]:
    """The pieces of a line, those alike and next to each other as one."""
    window, wide = conv.window, vectors * conv.lanes
    every = []
    for start in range(0, conv.points, wide):
        points = min(wide, conv.points - start)
        first = start * window.stride - window.begin
        seen = (points - 1) * window.stride + (window.taps - 1) * window.dilation + 1
        low = min(max(0, -first), seen)
        every.append(Piece(start, points, low, max(low, min(seen, window.extent - first))))
    alike = [list(run) for _, run in groupby(every, key=lambda p: (p.points, p.low, p.high))]
    return [replace(run[0], repeats=len(run)) for run in alike]


# ------------------------------------------------------------------------------------------------------ loops


def _emit(conv: Lines, shape: tuple[int, int], target: Target) -> st.Stmt:
    vectors, rows = shape
    parts = []
    for piece in _pieces(conv, vectors):
        which = index_var("piece")
        start = ops.add(ops.multiply(which, i64(piece.points)), i64(piece.start))
        body = _piece(conv, piece, rows, start if piece.repeats > 1 else i64(piece.start))
        parts.append(loop(which, piece.repeats, body) if piece.repeats > 1 else body)
    work = product([a.extent for a in (conv.channel, *conv.anchored.stage.reduce)])
    work = ops.multiply(work, i64(-(-conv.points // conv.lanes)))
    return parallel_rows(conv.outer, work, sequence(*parts), target.num_cores)


def _piece(conv: Lines, piece: Piece, rows: int, start: PrimExpr) -> st.Stmt:
    """Pack what a piece sees, then all its tiles."""
    vectors = -(-piece.points // conv.lanes)
    packed = Packed.of(conv, vectors)
    channels = conv.channel.size
    assert channels is not None
    parts = [_pack(conv, piece, packed, start)]
    full, rest = divmod(channels, rows)
    if full:
        tile = index_var("tile")
        parts.append(loop(tile, full, _sums(conv, piece, packed, rows, ops.multiply(tile, i64(rows)), start)))
    if rest:
        parts.append(_sums(conv, piece, packed, rest, i64(full * rows), start))
    return allocated(packed.buffer, sequence(*parts))


def _pack(conv: Lines, piece: Piece, packed: Packed, start: PrimExpr) -> st.Stmt:
    """Take apart every line that the piece sees; lines outside are zeros."""
    axes = [Axis(tir.Var(a.var.name, a.var.dtype), a.extent) for a in conv.inner]
    where: dict[tir.Var, PrimExpr] = {old.var: new.var for old, new in zip(conv.inner, axes)}
    line: PrimExpr = i64(0)
    for axis in axes:
        line = ops.add(ops.multiply(line, as_int64(axis.extent)), as_int64(axis.var))
    body = _copied(conv, piece, packed, line, start, where)
    inside = _inside(conv, where)
    if inside is not None:
        lane = index_var("v")
        empty = st.BufferStore(
            packed.buffer, ops.const(0, packed.buffer.dtype), (ops.add(packed.at(line, min(packed.slots), 0), lane),)
        )
        body = st.IfThenElse(inside, body, loop(lane, len(packed.slots) * packed.pitch, empty, VECTORIZED))
    return nest(axes, body)


def _inside(conv: Lines, where: dict[tir.Var, PrimExpr]) -> PrimExpr | None:
    """Whether the line that taps see exists; None if every one does."""
    found: PrimExpr | None = None
    for window in conv.others:
        reach = (window.taps - 1) * window.dilation - window.begin
        last = window.axis.size
        if window.begin <= 0 and last is not None and (last - 1) * window.stride + reach < window.extent:
            continue
        at = ops.multiply(as_int64(window.axis.var), i64(window.stride))
        if window.tap is not None:
            at = ops.add(at, ops.multiply(as_int64(where[window.tap.var]), i64(window.dilation)))
        at = ops.subtract(at, i64(window.begin))
        here = ops.logical_and(tir.GE(at, i64(0)), tir.LT(at, i64(window.extent)))
        found = here if found is None else ops.logical_and(found, here)
    return found


def _copied(
    conv: Lines, piece: Piece, packed: Packed, line: PrimExpr, start: PrimExpr, where: dict[tir.Var, PrimExpr]
) -> st.Stmt:
    """One line by phases: zeros at its borders, between them blocks of `stride` vectors, the last overlapping."""
    window, lanes = conv.window, conv.lanes
    parts = []
    for phase, shift in conv.phases.items():
        first = -((phase - piece.low) // window.stride)  # elements of this phase before `low`, and before `high`
        last = -((phase - piece.high) // window.stride)
        for begin, end in ((0, first), (max(first, last), shift + piece.points)):
            if begin < end:
                parts.append(_zeros(packed, packed.at(line, phase, begin), end - begin))
    base = ops.subtract(ops.multiply(start, i64(window.stride)), i64(window.begin))
    prefix = tuple(substitute_and_fold(i, where) for i in conv.data.indices[:-1])

    def source(place: PrimExpr, count: int) -> tir.BufferLoad:
        at = ops.cast(conv.data.indices[-1].dtype, ops.add(base, place))
        return tir.BufferLoad(
            conv.data.buffer, (*prefix, at if count == 1 else tir.Ramp(at, ops.const(1, at.dtype), count))
        )

    block = window.stride * lanes
    if piece.high - piece.low < block:
        for place in range(piece.low, piece.high):
            element, phase = divmod(place, window.stride)
            if phase in packed.slots:
                parts.append(st.BufferStore(packed.buffer, source(i64(place), 1), (packed.at(line, phase, element),)))
    else:
        places = [*range(piece.low, piece.high - block, block), piece.high - block]
        parts += [_block(conv, packed, line, place, lambda at: source(i64(at), lanes)) for place in places]
    return sequence(*parts)


def _block(conv: Lines, packed: Packed, line: PrimExpr, place: int, source: Callable[[int], tir.BufferLoad]) -> st.Stmt:
    """Take apart the vectors from `place` on, as many as there are phases."""
    stride, lanes = conv.window.stride, conv.lanes
    bound: list[tuple[tir.Var, PrimExpr]] = []

    def named(value: PrimExpr) -> tir.Var:
        bound.append((tir.Var(f"v{len(bound)}", value.dtype), value))
        return bound[-1][0]

    vectors = [named(source(place + n * lanes)) for n in range(stride)]
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


def _sums(conv: Lines, piece: Piece, packed: Packed, rows: int, first: PrimExpr, start: PrimExpr) -> st.Stmt:
    """A tile: `rows` output channels from `first` on, all points of the piece."""
    stage, lanes = conv.anchored.stage, conv.lanes
    vectors = -(-piece.points // lanes)
    acc = Accumulators.of(rows, vectors * lanes, stage.buffer.dtype)
    assert stage.init is not None
    init = stage.init
    line = index_var("line")

    def each(body: Callable[[int, int, PrimExpr, tir.Var], st.Stmt]) -> list[st.Stmt]:
        """`body` for every row, vector, place of the vector's lane in the piece, and lane."""
        parts = []
        for row in range(rows):
            for vector in range(vectors):
                lane = index_var("v")
                parts.append(loop(lane, lanes, body(row, vector, ops.add(i64(vector * lanes), lane), lane), VECTORIZED))
        return parts

    def update(tap: int) -> Callable[[int, int, PrimExpr, tir.Var], st.Stmt]:
        shift, phase = divmod(tap * conv.window.dilation, conv.window.stride)

        def one(row: int, vector: int, at: PrimExpr, lane: tir.Var) -> st.Stmt:
            seen = tir.BufferLoad(packed.buffer, (ops.add(packed.at(line, phase, shift + vector * lanes), lane),))
            term = tir.Mul(_weight(conv, ops.add(first, i64(row)), line, tap), seen)
            return st.BufferStore(acc.buffer, tir.Add(acc.load(row, at), term), (acc.at(row, at),))

        return one

    def store(row: int, vector: int, at: PrimExpr, lane: tir.Var) -> st.Stmt:
        where: dict[tir.Var, PrimExpr] = {
            conv.channel.var: ops.add(first, i64(row)),
            conv.window.axis.var: ops.add(start, at),
        }
        done = conv.anchored.store(acc.load(row, at), where)
        left = piece.points - vector * lanes
        return done if left >= lanes else st.IfThenElse(tir.LT(lane, i64(left)), done)

    taps = [part for tap in range(conv.window.taps) for part in each(update(tap))]
    body = sequence(
        *each(lambda row, vector, at, lane: st.BufferStore(acc.buffer, init, (acc.at(row, at),))),
        loop(line, product([a.extent for a in conv.inner]), sequence(*taps)),
        *each(store),
    )
    return allocated(acc.buffer, body)


def _weight(conv: Lines, channel: PrimExpr, line: PrimExpr, tap: int) -> PrimExpr:
    """The weight of a tap in a line of the window, lines counted over all axes of the sum but the last."""
    lead = len(conv.weight.indices) - len(conv.inner) - 1
    at = ops.add(ops.multiply(line, i64(conv.window.taps)), i64(tap))
    flat = conv.flat_weight
    where = {conv.channel.var: ops.cast(conv.channel.var.dtype, channel)}
    return tir.BufferLoad(flat, (*(substitute_and_fold(i, where) for i in conv.weight.indices[:lead]), at))
