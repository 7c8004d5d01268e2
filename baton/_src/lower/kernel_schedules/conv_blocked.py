"""Convolutions whose output channels lie in blocks (NCHW16c), dense or depthwise: direct, in registers.

    Y[n, co, h, w, lane] = sum over c.., kh, kw of X(n, c.., h*s + kh, w*s + kw) * W(co, lane, c.., kh, kw)

A tile is a run of neighbouring points of one output row, for a few blocks of output channels: each sum is a vector of
one block. Weights are vector loads, inputs broadcasts (depthwise: vector loads, too). Nothing is packed or copied:
padded taps are left out, rows by the limits of the loop over kh, columns by tiles of their own at the edges of the
row. Channels outside, taps between, the block of input channels innermost and not unrolled: unrolling the taps lets
LLVM share the overlapping loads of neighbouring taps and run out of registers.

Windows of one tap over whole rows (1x1) are products of matrices: their points are one long row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.affine import depends, merge_pair, step
from baton._src.lower.kernel_schedules.anchors import Anchored, find_anchor, surrounded
from baton._src.lower.kernel_schedules.conv_window import Window, read_windows, with_border_inside
from baton._src.lower.kernel_schedules.inline import inline_elementwise
from baton._src.lower.kernel_schedules.loops import (
    UNROLLED,
    VECTORIZED,
    allocated,
    i64,
    index_var,
    loop,
    nest,
    parallel_rows,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.matmul import is_simple, load_of
from baton._src.lower.kernel_schedules.stages import Axis, Declined, Stage, read_kernel
from baton._src.lower.kernel_schedules.tiles import Accumulators
from baton._src.passes.tir.flatten_buffers import element_count, flat_index
from baton._src.passes.tir.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

MOST_BLOCKS = 4
"""Blocks of output channels in a tile: each is a stream of weights of its own."""


@dataclass(frozen=True, eq=False)
class BlockedConv:
    """The parts of such a convolution; `rows` is None where the points are one row."""

    anchored: Anchored
    blocks: Axis
    rows: Window | None
    columns: Window
    lane: Axis
    channels: tuple[Axis, ...]
    data: tir.BufferLoad
    weight: PrimExpr

    @property
    def width(self) -> int:
        size = self.lane.size
        assert size is not None
        return size

    @property
    def is_depthwise(self) -> bool:
        return depends(self.data, self.lane.var)


@dataclass(frozen=True)
class Tile:
    """`points` points from `start` on, `repeats` such tiles one after the other; `seen[r]` are the points that tap r
    sees.
    """

    start: int
    points: int
    seen: tuple[tuple[int, int], ...]
    repeats: int = 1


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    stage = next((s for s in kernel.stages if isinstance(s, Stage) and _looks_right(s)), None)
    if stage is None:
        return Declined("no stage is a sum of products over blocked output channels")
    kernel, bordered = with_border_inside(kernel, stage)
    plain = _without_single(bordered)
    kernel = replace(kernel, stages=tuple(plain if s is bordered else s for s in kernel.stages))
    found = find_anchor(kernel, lambda s: s is plain)
    assert found is not None
    conv = _read(found)
    if isinstance(conv, Declined):
        return conv
    return kernel.rebuilt(surrounded(kernel, found, _emit(conv, target), target))


# ------------------------------------------------------------------------------------------------- recognition


def _looks_right(stage: Stage) -> bool:
    if stage.combiner is not tir.Add or len(stage.spatial) != 5 or not isinstance(stage.value, tir.Mul):
        return False
    return stage.spatial[-1].size in (4, 8, 16, 32) and stage.buffer.dtype.is_float and not stage.buffer.strides


def _without_single(stage: Stage) -> Stage:
    """The stage without reduced axes of one point."""
    single = {a.var: tir.IntImm(a.var.dtype, 0) for a in stage.reduce if a.size == 1}
    if not single or len(single) == len(stage.reduce):
        return stage
    reduce = tuple(a for a in stage.reduce if a.var not in single)
    return replace(stage, reduce=reduce, value=substitute_and_fold(stage.value, single))


def _read(anchored: Anchored) -> BlockedConv | Declined:
    merged = _as_one_row(anchored)
    if merged is not None:
        anchored = merged
    stage = anchored.stage
    assert isinstance(stage.value, tir.Mul)
    lane, columns = stage.spatial[-1], stage.spatial[-2]
    places = (columns,) if merged is not None else (stage.spatial[-3], columns)
    for weight, data in ((stage.value.b, stage.value.a), (stage.value.a, stage.value.b)):
        if not is_simple(weight) or any(depends(weight, a.var) for a in places):
            continue
        if load_of(weight).buffer.strides or load_of(weight).indices[-1] is not lane.var:
            continue
        found = read_windows(stage, data, places)
        if found is None:
            continue
        load, windows = found
        if depends(load, lane.var) and load.indices[-1] is not lane.var:
            continue
        if columns.size is None or load.buffer.strides:
            continue
        taps = {w.tap for w in windows}
        channels = tuple(a for a in stage.reduce if a not in taps)
        rows = windows[0] if len(windows) == 2 else None
        return BlockedConv(anchored, stage.spatial[1], rows, windows[-1], lane, channels, load, weight)
    return Declined("no factor is a weight by blocks of output channels, the other an input under windows")


def _as_one_row(anchored: Anchored) -> Anchored | None:
    """The anchor with rows and columns as one axis, if every access has them side by side."""
    found: list[Stage] = []
    for stage in anchored.stages:
        merged = merge_pair(stage, stage.spatial[2], stage.spatial[3])
        if merged is None:
            return None
        found.append(merged)
    if len(found) == 1:
        return Anchored(found[0], None)
    # The epilogue must load the very buffer that the merged stage stores to.
    shared = found[0].buffer
    loads = [load.buffer for load in found[1].loads if load.buffer.data is shared.data]
    return Anchored(found[0], found[1]) if loads else None


# ----------------------------------------------------------------------------------------------------- tiling


def _most_points(target: Target, width: int, blocks: int) -> int:
    """Points of a tile of so many blocks: a vector for each sum, each block's weights and an input."""
    registers = 32 if target.vector_bits >= 512 or "neon" in target.features else 16
    vectors = max(1, width // max(2, target.lanes(32))) * blocks
    return max(1, (registers - 2 - vectors) // vectors)


def _shape(conv: BlockedConv, target: Target) -> tuple[int, int]:
    """(blocks, points) of a tile: those that take the fewest steps, by arithmetic and by loads."""
    blocks, points = conv.blocks.size, conv.columns.axis.size
    assert points is not None
    best: tuple[float, int, int] | None = None
    for count in range(1, MOST_BLOCKS + 1):
        if count > 1 and (blocks is None or blocks % count or conv.is_depthwise):
            continue
        tiles = -(-points // _most_points(target, conv.width, count))
        wide = -(-points // tiles)
        cost = tiles * max(wide * count + 0.15 * (wide + 2 * count), 6.0) / count
        if best is None or cost < best[0]:
            best = (cost, count, wide)
    assert best is not None
    return best[1], best[2]


def _tiles(window: Window, most: int) -> list[Tile]:
    """The output row cut into tiles of at most `most` points, those alike and next to each other as one."""
    size = window.axis.size
    assert size is not None
    cuts = [(start, min(most, size - start)) for start in range(0, size, most)]
    every = []
    for start, points in cuts:
        seen = tuple(window.points(r, start, points) for r in range(window.taps))
        every.append(Tile(start, points, seen))
    alike = [list(run) for _, run in groupby(every, key=lambda t: (t.points, t.seen))]
    return [replace(run[0], repeats=len(run)) for run in alike]


# ----------------------------------------------------------------------------------------------------- loops


def _emit(conv: BlockedConv, target: Target) -> st.Stmt:
    stage = conv.anchored.stage
    count, points = _shape(conv, target)
    tiles = _tiles(conv.columns, points)
    group = Axis(index_var("group"), ops.floordiv(conv.blocks.extent, i64(count)))
    outer = [stage.spatial[0], group]
    work = product([a.extent for a in stage.reduce])
    if conv.rows is not None:
        outer.append(conv.rows.axis)
        body = sequence(*(_repeated(conv, tile, group.var, count) for tile in tiles))
        size = conv.columns.axis.size or 1
    elif len(tiles) == 1:
        tile, place = tiles[0], Axis(index_var("tile"), i64(tiles[0].repeats))
        outer.append(place)
        body = _tile(conv, tile, group.var, count, ops.multiply(place.var, i64(tile.points)))
        size = tile.points
    else:
        body = sequence(*(_repeated(conv, tile, group.var, count) for tile in tiles))
        size = conv.columns.axis.size or 1
    lanes = max(2, target.lanes(32))
    cost = ops.multiply(work, i64(max(1, size * count * conv.width // lanes)))
    return parallel_rows(outer, cost, body, target.num_cores)


def _repeated(conv: BlockedConv, tile: Tile, group: tir.Var, count: int) -> st.Stmt:
    if tile.repeats == 1:
        return _tile(conv, tile, group, count, i64(tile.start))
    which = index_var("tile")
    start = ops.add(ops.multiply(which, i64(tile.points)), i64(tile.start))
    return loop(which, tile.repeats, _tile(conv, tile, group, count, start))


def _tile(conv: BlockedConv, tile: Tile, group: tir.Var, count: int, start: PrimExpr) -> st.Stmt:
    stage = conv.anchored.stage
    acc = Accumulators.of(count * tile.points, conv.width, stage.buffer.dtype)
    init = stage.init
    assert init is not None
    first = ops.multiply(group, i64(count))

    def store(p: PrimExpr, j: PrimExpr, lane: tir.Var) -> st.Stmt:
        block, column = ops.add(first, j), ops.add(start, p)
        where = {conv.blocks.var: block, conv.columns.axis.var: column, conv.lane.var: lane}
        return conv.anchored.store(acc.load(_row(tile, p, j), lane), where)

    every = (0, tile.points)
    return allocated(
        acc.buffer,
        sequence(
            acc.each(lambda row, lane: init),
            _taps(conv, tile, acc, first, count, start),
            _each_sum(conv, every, count, store),
        ),
    )


def _row(tile: Tile, p: PrimExpr, j: PrimExpr) -> PrimExpr:
    """The accumulator of a point and block."""
    return ops.add(ops.multiply(j, i64(tile.points)), p)


def _each_sum(
    conv: BlockedConv, points: tuple[int, int], count: int, body: Callable[[PrimExpr, PrimExpr, tir.Var], st.Stmt]
) -> st.Stmt:
    """`body(point, block, lane)` for every sum of some points, written out.

    Points outside, blocks inside: the weights stay in registers, each input for a moment only.
    """
    p, j, lane = index_var("p"), index_var("j"), index_var("v")
    vector = loop(lane, conv.width, body(ops.add(p, i64(points[0])), j, lane), VECTORIZED)
    return loop(p, points[1] - points[0], loop(j, count, vector, UNROLLED), UNROLLED)


def _taps(conv: BlockedConv, tile: Tile, acc: Accumulators, block: PrimExpr, count: int, start: PrimExpr) -> st.Stmt:
    """All multiply-adds of a tile: outer channels, rows of the window, runs of columns of the window, a block."""
    runs = []
    for seen, taps in groupby(range(len(tile.seen)), key=lambda r: tile.seen[r]):
        columns = list(taps)
        if seen[0] < seen[1]:
            run = _Run(seen, columns[0], len(columns))
            runs.append(_run(conv, tile, acc, run, (block, count), start))
    body = sequence(*runs) if runs else st.Evaluate(tir.IntImm("int32", 0))
    window = conv.rows
    if window is not None and window.tap is not None:
        first, last = window.range_at(window.axis.var)
        tap = index_var("kh")
        where = {window.tap.var: ops.cast(window.tap.var.dtype, ops.add(first, tap))}
        body = loop(tap, ops.subtract(last, first), substitute_and_fold(body, where))
    elif window is not None and (
        window.begin or (window.axis.size or 0) * window.stride > window.extent + window.stride
    ):
        first, last = window.range_at(window.axis.var)
        body = st.IfThenElse(tir.LT(first, last), body)
    return nest(conv.channels[:-1], body)


@dataclass(frozen=True)
class _Run:
    """Neighbouring taps of the columns that see the same points of a tile."""

    seen: tuple[int, int]
    first: int
    count: int


def _run(
    conv: BlockedConv, tile: Tile, acc: Accumulators, run: _Run, blocks: tuple[PrimExpr, int], start: PrimExpr
) -> st.Stmt:
    """The multiply-adds of a run of taps over one block of input channels."""
    columns = conv.columns
    where: dict[tir.Var, PrimExpr] = {columns.axis.var: start, conv.blocks.var: blocks[0]}
    tap = index_var("kw")
    if columns.tap is not None:
        place = i64(run.first) if run.count == 1 else ops.add(tap, i64(run.first))
        where[columns.tap.var] = ops.cast(columns.tap.var.dtype, place)
    # Axes of the loops here get fresh variables: other runs have the same loops.
    inner = [(a, tir.Var(a.var.name, a.var.dtype)) for a in conv.channels[-1:]]
    where |= {axis.var: var for axis, var in inner}
    data, weight = _Stream.of(conv.data, where, conv), _Stream.of(load_of(conv.weight), where, conv)
    dtype = acc.buffer.dtype

    def update(p: PrimExpr, j: PrimExpr, lane: tir.Var) -> st.Stmt:
        row = _row(tile, p, j)
        term = tir.Mul(ops.cast(dtype, data.load(j, p, lane)), ops.cast(dtype, weight.load(j, p, lane)))
        return st.BufferStore(acc.buffer, tir.Add(acc.load(row, lane), term), (acc.at(row, lane),))

    body = data.bound(weight.bound(_each_sum(conv, run.seen, blocks[1], update)))
    body = nest([Axis(var, axis.extent) for axis, var in inner], body)
    return body if run.count == 1 else loop(tap, run.count, body)


@dataclass(frozen=True, eq=False)
class _Stream:
    """Loads of a tile that lie at constant distances from one place: by block, point and lane."""

    buffer: Buffer
    base: tir.Var
    place: PrimExpr
    steps: tuple[int, int, int]

    @staticmethod
    def of(load: tir.BufferLoad, where: Mapping[tir.Var, PrimExpr], conv: BlockedConv) -> _Stream:
        axes = (conv.blocks, conv.columns.axis, conv.lane)
        steps = []
        for axis in axes:
            found = step(load, axis)
            assert found is not None
            steps.append(found)
        buffer = load.buffer
        flat = Buffer(buffer.data, buffer.dtype, (element_count(buffer),), name=buffer.name)
        at = substitute_and_fold(flat_index(buffer, load.indices), {**where, conv.lane.var: i64(0)})
        return _Stream(flat, index_var("at"), at, (steps[0], steps[1], steps[2]))

    def load(self, block: PrimExpr, point: PrimExpr, lane: tir.Var) -> tir.BufferLoad:
        by_block, by_point, by_lane = self.steps
        away = ops.add(ops.multiply(block, i64(by_block)), ops.multiply(point, i64(by_point)))
        index = ops.add(self.base, away)
        return tir.BufferLoad(self.buffer, (ops.add(index, lane) if by_lane else index,))

    def bound(self, body: st.Stmt) -> st.Stmt:
        return st.LetStmt(self.base, self.place, body)
