"""A tile of a blocked convolution: its points, the inputs they read, and the addresses of its operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.blocked.channel_chunks import Chunks
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv
from baton._src.lower.kernel_schedules.convolution.conv_window import Window
from baton._src.lower.kernel_schedules.products.dots import Dot
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.loops import i64, index_var
from baton._src.passes.tir.lowering.flatten_buffers import as_int64, flat_buffer, flat_index
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer


@dataclass(frozen=True)
class Tile:
    """`points` points from `start` on, `repeats` such tiles one after the other; `seen[r]` are the points that tap r
    sees.
    """

    start: PrimExpr
    points: int
    seen: tuple[tuple[int, int], ...]
    repeats: PrimExpr


def widths_of(most: int) -> list[int]:
    """The points of tiles that make up a row of any length: `most`, and powers of two for what that leaves."""
    return [most, *(1 << n for n in reversed(range(most.bit_length() - 1)))]


def evenly(size: int, most: int) -> list[int]:
    """As few parts of at most `most` as make up `size`, the larger ones first: none is larger by more than one."""
    parts = -(-size // most)
    least, larger = divmod(size, parts)
    return [least + 1] * larger + [least] * (parts - larger)


def tiles_of(window: Window, most: int) -> list[Tile]:
    """The output row divided evenly into tiles of at most `most` points, with equal adjacent ones merged into one
    entry.
    """
    size = window.axis.size
    if size is None:
        return _of_unknown_row(window, most)
    every, start = [], 0
    for points in evenly(size, most):
        seen = tuple(window.points(r, start, points) for r in range(window.taps))
        every.append(Tile(i64(start), points, seen, i64(1)))
        start += points
    alike = [list(run) for _, run in groupby(every, key=lambda t: (t.points, t.seen))]
    return [replace(run[0], repeats=i64(len(run))) for run in alike]


def _of_unknown_row(window: Window, most: int) -> list[Tile]:
    """The same for a row whose length only a run tells: nothing in it is outside the input."""
    assert window.whole
    left, tiles = as_int64(window.axis.extent), []
    at: PrimExpr = i64(0)
    for points in widths_of(most):
        count = ops.floordiv(left, i64(points))
        tiles.append(Tile(at, points, ((0, points),) * window.taps, count))
        at = ops.add(at, ops.multiply(count, i64(points)))
        left = ops.floormod(left, i64(points))
    return tiles


@dataclass(frozen=True, eq=False)
class Turns:
    """The order of the tiles that read the same weights (those of a group of blocks), if their number is known."""

    image: tir.Var | None
    """None: every image has its own order."""
    lines: int
    """Rows of a tile."""
    points: int
    """Points of a tile."""
    across: int
    """Tiles per row."""
    each: int
    """Tiles per image."""
    count: int
    near: bool
    """Whether weights are prefetched into the first-level cache."""

    @staticmethod
    def of(
        conv: BlockedConv, points: int, lines: int, every_image: bool, near: bool = True, parts: int = 1
    ) -> Turns | None:
        """For tiles of so many points of so many rows; `every_image`: all images pass by a group of blocks; `parts`: of
        a map, each of which passes by all groups; `near`: see above.
        """
        height = 1 if conv.rows is None else conv.rows.axis.size
        width, image = conv.columns.axis.size, conv.anchored.stage.spatial[0]
        images = image.size if every_image else 1
        if height is None or width is None or images is None or conv.is_depthwise:
            return None
        across = -(-width // points)
        each = -(-height // lines) * across
        return Turns(image.var if every_image else None, lines, points, across, each, images * each // parts, near)

    def number(self, row: PrimExpr | None, start: PrimExpr) -> PrimExpr:
        """Of the tile that begins at `row` and `start`."""
        at = ops.floordiv(ops.add(start, i64(self.points - 1)), i64(self.points))  # the later tiles may be smaller
        if row is not None:
            at = ops.add(ops.multiply(ops.floordiv(row, i64(self.lines)), i64(self.across)), at)
        if self.image is not None:
            at = ops.add(ops.multiply(as_int64(self.image), i64(self.each)), at)
        return ops.floormod(at, i64(self.count)) if self.count < self.each else at


@dataclass(frozen=True, eq=False)
class Place:
    """Where a tile is: its first block, row (None: there is only one) and point, and how many of the first two; `taps`
    of a row of a depthwise window are taken at a time; `dot` is the instruction that multiplies words; `turns` numbers
    the tiles that read the same weights; `far`: the result is in no cache (`results_ahead`); `chunks`: of the channels,
    if a tile adds up those of one; `channels` of the input are unrolled.
    """

    block: PrimExpr
    blocks: int
    row: PrimExpr | None
    rows: int = 1
    taps: int = 1
    dot: Dot | None = None
    turns: Turns | None = None
    far: bool = False
    chunks: Chunks | None = None
    channels: int = 1

    def sum_of(self, tile: Tile, at: Point) -> PrimExpr:
        """The index of a sum in the tile."""
        line = ops.add(ops.multiply(at.block, i64(self.rows)), at.row)
        return ops.add(ops.multiply(line, i64(tile.points)), at.point)


@dataclass(frozen=True, eq=False)
class Point:
    """One vector of a tile, counted from the tile's place."""

    block: PrimExpr
    row: PrimExpr
    point: PrimExpr
    lane: PrimExpr


@dataclass(frozen=True, eq=False)
class Stream:
    """Loads of a tile that lie at constant distances from one place: by block, row, point and lane."""

    buffer: Buffer
    base: tir.Var
    place: PrimExpr
    steps: tuple[int, ...]
    tap: int
    """From one column of the window to the next."""

    @staticmethod
    def of(load: tir.BufferLoad, where: Mapping[tir.Var, PrimExpr], conv: BlockedConv) -> Stream:
        axes = (conv.blocks, conv.rows.axis if conv.rows is not None else None, conv.columns.axis, conv.lane)
        steps = []
        for axis in axes:
            found = 0 if axis is None else step(load, axis)
            if axis is conv.blocks and found is None:
                found = 0  # a tile of one block (`shapes`), whose place is in the address
            assert found is not None
            steps.append(found)
        buffer = load.buffer
        flat = flat_buffer(buffer)
        at = substitute_and_fold(flat_index(buffer, load.indices), {**where, conv.lane.var: i64(0)})
        tap = 0 if conv.columns.tap is None else step(load, conv.columns.tap)
        assert tap is not None
        return Stream(flat, index_var("at"), at, tuple(steps), tap)

    def vector(self, distance: int, lanes: int) -> tir.BufferLoad:
        """All lanes at that distance from the base address."""
        at = ops.add(self.base, i64(distance))
        return tir.BufferLoad(self.buffer, (tir.Ramp(at, i64(1), lanes),))

    def load(self, at: Point) -> tir.BufferLoad:
        index: PrimExpr = self.base
        for place, by in zip((at.block, at.row, at.point), self.steps):
            index = ops.add(index, ops.multiply(place, i64(by)))
        return tir.BufferLoad(self.buffer, (ops.add(index, at.lane) if self.steps[3] else index,))

    def first(self, at: Point) -> tir.BufferLoad:
        """The element loaded for the first lane."""
        return self.load(replace(at, lane=i64(0)))

    def bound(self, body: st.Stmt) -> st.Stmt:
        return st.LetStmt(self.base, self.place, body)
