"""How convolutions that do not pack their input are cut into tasks: what such a convolution is, and the task that takes
the fewest steps.

A task is a block of lines for a tile of output channels, in runs of points that are neighbours in memory, including
those between its lines (`unpacked_runs`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.products.tiles import TileShape
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends, step
from baton._src.lower.kernel_schedules.shared.loops import i64
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

MOST_VECTORS = 8
"""Vectors of a run of points: enough independent sums for one channel alone."""
MOST_SHARING = 4
"""Taps that share a load: their weights stay in registers."""
LONG_WINDOW = 32
"""Vectors of taps beyond which they would be too much code."""
SCRATCH, SCRATCH_OF_PHASES = 1 << 12, 1 << 13
"""Elements of the scratch of a task: half a first-level cache, or all of it."""
CROSSING = 1.5
"""Time of a load of the input in multiply-adds: many of them lie across two lines of the cache."""

SHARE_OF_CACHE = 3
"""What a task sees of some input channels takes at most the first-level cache divided by this, beside its sums."""
SPARED = 1
"""First-level caches that what a task sees of all channels may take before they are added in parts."""
LEAST_TERMS = 32
"""Terms of a sum between two of its moves from the scratch and back, at least."""

LOAD, LOADS_OF_PANELS = 0.25, 11 / 24
"""What a load costs beside multiply-adds, and how many each of them takes in products of packed panels, with which this
is compared. A broadcast weight serves all vectors of a run, a vector all rows.
"""


@dataclass(frozen=True)
class Task:
    """`rows` output channels of `lines` lines, in runs of `vectors` vectors over all their points; all runs add `depth`
    input channels before the next ones (None: each run adds all).
    """

    rows: int
    lines: int
    vectors: int
    depth: int | None = None


@dataclass(frozen=True, eq=False)
class Sums:
    """The scratch of a task: `rows` rows, `pitch` elements apart, for each phase. A vector of `lanes` that begins at a
    sum is inside the buffer.
    """

    buffer: Buffer
    rows: int
    pitch: int
    lanes: int

    def row(self, phase: PrimExpr, row: PrimExpr) -> PrimExpr:
        """The place of the first sum of a row."""
        return ops.multiply(ops.add(ops.multiply(phase, i64(self.rows)), row), i64(self.pitch))


@dataclass(frozen=True, eq=False)
class Finished:
    """A task whose sums are there: its first output channel and line, and where they are."""

    task: Task
    row: PrimExpr
    line: PrimExpr
    sums: Sums


@dataclass(frozen=True, eq=False)
class UnpackedConv:
    """The parts of such a convolution: points are `lines` (None: there is one) of `columns`, `pitch` elements of the
    input apart; `rows` is the axis of output channels, None where each has an input channel of its own. The loads of
    `data` and `weight` and the extents of `reduce` may depend on `phases`; `terms` are those of a sum, on average.
    `write` stores what is finished.
    """

    outer: tuple[Axis, ...]
    rows: Axis | None
    lines: Axis | None
    columns: Axis
    pitch: int
    data: tir.BufferLoad
    weight: tir.BufferLoad
    reduce: tuple[Axis, ...]
    terms: int
    init: PrimExpr
    write: Callable[[UnpackedConv, Finished], st.Stmt]
    phases: tuple[Axis, ...] = ()

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many output channels, lines and columns there are."""
        rows, lines, columns = (1 if a is None else a.size or 0 for a in (self.rows, self.lines, self.columns))
        return rows, lines, columns

    @property
    def planes(self) -> int:
        """How many sums each point has."""
        return prod(a.size or 1 for a in self.phases)

    def extent(self, lines: int) -> int:
        """The points of so many lines and between them."""
        return (lines - 1) * self.pitch + self.sizes[2]


def choose_task(conv: UnpackedConv, shape: TileShape, near: int) -> Task | None:
    """The task that takes the fewest steps, with a first-level cache of `near` bytes; None where there is no whole
    vector of points.
    """
    _, lines, _ = conv.sizes
    room = SCRATCH if conv.planes == 1 else SCRATCH_OF_PHASES
    best: tuple[float, Task] | None = None
    for vectors in range(1, min(MOST_VECTORS, conv.extent(lines) // shape.lanes) + 1):
        tall = even_rows(conv.sizes[0], min(shape.rows, shape.heights(vectors)[-1]))
        for count in range(1, lines + 1):
            extent = conv.extent(count)
            if count > 1 and tall * padded(extent, shape.lanes) * conv.planes > room:
                break
            if extent < vectors * shape.lanes:
                continue
            task = Task(tall, count, vectors)
            cost = steps_of(conv, task, shape)
            if best is None or cost < best[0]:
                best = (cost, task)
    return None if best is None else replace(best[1], depth=_depth(conv, best[1], shape, near))


def _depth(conv: UnpackedConv, task: Task, shape: TileShape, near: int) -> int | None:
    """Input channels of which what a task sees stays in a cache of `near` bytes: each run sees lines that the next one
    sees, too. None where those of all do, where a task is one run, or where sums would move more often than worth it.
    """
    channel, size = conv.reduce[0], conv.reduce[0].size
    if size is None or len(conv.reduce) < 2 or conv.extent(task.lines) < 2 * task.vectors * shape.lanes:
        return None
    each = _seen_of_one(conv, channel, task.lines)
    if each is None:
        return None
    each *= conv.data.dtype.itemsize
    room, least = near // SHARE_OF_CACHE, -(-LEAST_TERMS * size // (conv.terms or 1))
    most = max(room // max(1, each), least)
    if size * each <= SPARED * near or most * each > 2 * room or most >= size:
        return None
    return -(-size // -(-size // most))


def _seen_of_one(conv: UnpackedConv, channel: Axis, lines: int) -> int | None:
    """The elements of an input channel that so many lines see; None where channels are not a dim of their own."""
    indices, shape = conv.data.indices, conv.data.buffer.shape
    using = [n for n, index in enumerate(indices) if depends(index, channel.var)]
    if len(using) != 1 or coefficient(indices[using[0]], channel.var) != 1:
        return None
    seen = 1
    for index, dim in zip(indices[using[0] + 1 :], shape[using[0] + 1 :]):
        if not isinstance(dim, tir.IntImm):
            return None
        size = dim.value
        for axis in conv.outer:
            size -= (axis.size or 1) - 1 if coefficient(index, axis.var) == 1 else 0
        if conv.lines is not None and depends(index, conv.lines.var):
            size -= conv.sizes[1] - lines
        seen *= size
    return seen


def even_rows(rows: int, most: int) -> int:
    """Rows of a tile, at most so many, of which as few tiles as possible have all rows."""
    return -(-rows // -(-rows // most))


def _of_lines(conv: UnpackedConv, task: Task, shape: TileShape) -> float:
    return sum(times * _cost(conv, task, part, shape) for times, part in _parts(conv.sizes[1], task.lines))


def steps_of(conv: UnpackedConv, task: Task, shape: TileShape) -> float:
    """What all tasks take that differ in lines and output channels, in multiply-adds of vectors."""
    tiles = sum(times * rows / task.rows for times, rows in _parts(conv.sizes[0], task.rows))
    return tiles * _of_lines(conv, task, shape)


def _parts(size: int, part: int) -> list[tuple[int, int]]:
    """How often `part` goes into `size`, and what is left."""
    whole = [(size // part, part)]
    return whole if size % part == 0 else [*whole, (1, size % part)]


def _cost(conv: UnpackedConv, task: Task, lines: int, shape: TileShape) -> float:
    """Steps of a task of so many lines: each run's multiply-adds or loads, and what starting it costs."""
    runs = -(-conv.extent(lines) // (task.vectors * shape.lanes))
    sharing = taps_sharing(conv, task.rows, shape.lanes)
    loads = (task.vectors + sharing - 1) / sharing
    sums = task.rows * task.vectors
    beside = LOAD * (task.rows + CROSSING * loads - LOADS_OF_PANELS * sums)
    work = max(sums + beside, CROSSING * loads + 0.5 * task.rows, 4.0)
    each = conv.terms * (work + 0.75) + 2.5 * task.rows * task.vectors + 12
    return runs * each + 10 + 2.0 * task.rows * lines


def taps_sharing(conv: UnpackedConv, rows: int, lanes: int) -> int:
    """How many taps share a load: those a vector apart, of one channel along its line."""
    taps = conv.reduce[-1]
    if rows > 1 or conv.phases or taps.size is None or not lanes < taps.size <= LONG_WINDOW * lanes:
        return 1
    if step(conv.data, taps) != 1 or step(conv.weight, taps) is None:
        return 1
    return min(MOST_SHARING, -(-taps.size // lanes))


def waste(conv: UnpackedConv, task: Task, shape: TileShape) -> float:
    """How many points are computed for each one that is wanted."""
    _, lines, columns = conv.sizes
    computed = sum(n * padded(conv.extent(part), shape.lanes) for n, part in _parts(lines, task.lines))
    return computed / (lines * columns)


def padded(extent: int, lanes: int) -> int:
    return -(-extent // lanes) * lanes
