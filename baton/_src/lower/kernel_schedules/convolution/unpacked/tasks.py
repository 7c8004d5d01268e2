"""How convolutions that do not pack their input are cut into tasks: what such a convolution is, what a task is, and the
steps that tasks take. Which one takes the fewest is `choice`'s question.

A task is a block of lines for a tile of output channels, in runs of points that are neighbours in memory, including
those between its lines (`runs`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.products.tiles import TileShape
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends, known_step, step
from baton._src.lower.kernel_schedules.shared.loops import i64
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

MOST_SHARING = 4
"""Taps that share a load: their weights stay in registers."""
LONG_WINDOW = 32
"""Vectors of taps beyond which they would be too much code."""
CROSSING = 1.5
"""Time of a load of the input in multiply-adds: many of them lie across two lines of the cache."""

LOAD, LOADS_OF_PANELS = 0.25, 11 / 24
"""What a load costs beside multiply-adds, and how many each of them takes in products of packed panels, with which this
is compared. A broadcast weight serves all vectors of a run, a vector all rows.
"""


@dataclass(frozen=True)
class Task:
    """`rows` output channels of `lines` lines, in runs of `vectors` vectors over all their points; all runs add `depth`
    input channels before the next ones (None: each run adds all). Runs of `tall` lines, if more than one, are those
    vectors of each of them (`tall_runs`).
    """

    rows: int
    lines: int
    vectors: int
    depth: int | None = None
    tall: int = 1


@dataclass(frozen=True)
class Bands:
    """Blocks of at most `most` lines, of `shared` parts with so many `lines` each, that threads take as they are."""

    lines: int
    shared: int
    threads: int
    most: int

    def waiting(self, block: int) -> float:
        """The time until all threads have finished, by what blocks of so many lines would take if shared evenly."""
        each = -(-self.shared * -(-self.lines // block) // self.threads)
        return max(1.0, each * block * self.threads / (self.shared * self.lines))


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


def even_rows(rows: int, most: int) -> int:
    """Rows of a tile, at most so many, of which as few tiles as possible have all rows."""
    return -(-rows // -(-rows // most))


def lines_tap(conv: UnpackedConv) -> tuple[Axis, int] | None:
    """The axis of the sum by which a point sees several lines, and how far apart those are; None where a step along it
    is none of whole lines.
    """
    if conv.lines is None:
        return None
    line = conv.lines.var
    for axis in conv.reduce[1:]:
        using = [index for index in conv.data.indices if depends(index, axis.var)]
        apart = coefficient(using[0], axis.var) if len(using) == 1 and depends(using[0], line) else None
        if apart and apart > 0 and (axis.size or 0) > 1 and known_step(conv.weight, axis) is not None:
            return axis, apart
    return None


def _of_lines(conv: UnpackedConv, task: Task, shape: TileShape) -> float:
    return sum(times * _cost(conv, task, part, shape) for times, part in parts(conv.sizes[1], task.lines))


def steps_of(conv: UnpackedConv, task: Task, shape: TileShape) -> float:
    """What all tasks take that differ in lines and output channels, in multiply-adds of vectors."""
    tiles = sum(times * rows / task.rows for times, rows in parts(conv.sizes[0], task.rows))
    return tiles * _of_lines(conv, task, shape)


def parts(size: int, part: int) -> list[tuple[int, int]]:
    """How often `part` goes into `size`, and what is left."""
    whole = [(size // part, part)]
    return whole if size % part == 0 else [*whole, (1, size % part)]


def _cost(conv: UnpackedConv, task: Task, lines: int, shape: TileShape) -> float:
    """Steps of a task of so many lines: each run's multiply-adds or loads, and what starting it costs."""
    if task.tall > 1:
        return _cost_of_tall(conv, task, lines, shape)
    runs = -(-conv.extent(lines) // (task.vectors * shape.lanes))
    sharing = taps_sharing(conv, task.rows, shape.lanes)
    loads = (task.vectors + sharing - 1) / sharing
    sums = task.rows * task.vectors
    each = conv.terms * _step(sums, task.rows, loads) + 2.5 * sums + 12
    return runs * each + 10 + 2.0 * task.rows * lines


def _step(sums: int, weights: int, loads: float) -> float:
    """A step of a run: so many multiply-adds, weights and loads of the input."""
    beside = LOAD * (weights + CROSSING * loads - LOADS_OF_PANELS * sums)
    return max(sums + beside, CROSSING * loads + 0.5 * weights, 4.0) + 0.75


def _cost_of_tall(conv: UnpackedConv, task: Task, lines: int, shape: TileShape) -> float:
    """The same of runs of several lines."""
    found = lines_tap(conv)
    assert found is not None
    taps, reach = found[0].size or 1, ((found[0].size or 1) - 1) * found[1]
    total, vectors = 10 + 2.0 * task.rows * lines, -(-conv.sizes[2] // shape.lanes)
    for groups, tall in parts(lines, task.tall):
        for runs, wide in parts(vectors, task.vectors):
            sums = task.rows * tall * wide
            each = _step(sums * taps, task.rows * taps, wide * (tall + reach))
            total += groups * runs * (conv.terms / taps * each + 2.5 * sums + 12)
    return total


def taps_sharing(conv: UnpackedConv, rows: int, lanes: int) -> int:
    """How many taps share a load: those a vector apart, of one channel along its line."""
    taps = conv.reduce[-1]
    if rows > 1 or conv.phases or taps.size is None or not lanes < taps.size <= LONG_WINDOW * lanes:
        return 1
    if step(conv.data, taps) != 1 or known_step(conv.weight, taps) is None:
        return 1
    return min(MOST_SHARING, -(-taps.size // lanes))


def waste(conv: UnpackedConv, task: Task, shape: TileShape) -> float:
    """How many points are computed for each one that is wanted."""
    _, lines, columns = conv.sizes
    computed = sum(n * padded(conv.extent(part), shape.lanes) for n, part in parts(lines, task.lines))
    return computed / (lines * columns)


def padded(extent: int, lanes: int) -> int:
    return -(-extent // lanes) * lanes
