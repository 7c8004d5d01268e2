"""Depthwise convolutions (channels first) whose tiles span several lines, so that loads are shared between taps.

    Y[.., c, h, w] = sum over i, j of X[.., c, h * s + i * d - b, w * t + j * e - f] * W[c, i, j]

A load of X between two vectors takes as long as two multiply-adds, so it has to serve several. For one column
j of the window, a vector of input line l belongs to all output lines h with l = h * s + i * d - b: a tile has a few
vectors of as many output lines as there are registers for, and while j runs each vector of the input lines is loaded
once for each j. The weights of a column of the window stay in registers meanwhile.

A band of lines is packed first, with zeros around and taken apart by the phases of the stride (`line_pieces`): it lies
in the first-level cache. Input lines outside the map are neither packed nor multiplied: tiles at the upper and lower
edge are written out for themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import groupby
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.blocked_conv_parts import without_single
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan, by_general_rule, count, packing_lines
from baton._src.lower.kernel_schedules.convolution.conv_groups import by_group, groups_of
from baton._src.lower.kernel_schedules.convolution.conv_window import Window, read_windows, with_border_inside
from baton._src.lower.kernel_schedules.convolution.line_pieces import LineSource, Packed, Piece, copied_line, pieces_of
from baton._src.lower.kernel_schedules.products.tiles import TileShape, tile_shape
from baton._src.lower.kernel_schedules.rows import apply as by_rows
from baton._src.lower.kernel_schedules.shared.affine import depends, step
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    parallel_rows,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

NONE = "no stage is a depthwise convolution over lines"
MOST_TAPS = 11
"""Lines of a window, whose weights stay in registers."""
MOST_STRIDE = 4
"""Steps up to which lines are taken apart by shuffles."""
MOST_VECTORS = 16
"""Vectors of a line in one piece."""
BAND = 1 << 12
"""Elements of the packed lines: half a first-level cache."""
CODE = 6000
"""Multiply-adds written out that are worth twice the time."""
MOST_SHARED = 2
"""Channels of the result that may pack the same channel of the input, each for itself."""


@dataclass(frozen=True, eq=False)
class Depthwise:
    """The parts of such a convolution; `line` is the index of a line of the input in `source`."""

    anchored: Anchored
    origin: Anchored
    """The stages this replaces, as the kernel has them."""
    rows: Window
    columns: Window
    source: LineSource
    line: tir.Var
    weight: tir.BufferLoad

    @property
    def outer(self) -> tuple[Axis, ...]:
        return self.anchored.stage.spatial[:-2]

    @cached_property
    def init(self) -> PrimExpr:
        stage = self.anchored.stage
        return ops.const(0, stage.buffer.dtype) if stage.init is None else stage.init


@dataclass(frozen=True)
class Tile:
    """Lines of a tile, vectors of each of its lines, and lines of a band."""

    lines: int
    vectors: int
    band: int


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    found = plan(func, target)
    return found if isinstance(found, Declined) else found.make()


def plan(func: PrimFunc, target: Target) -> Plan | Declined:
    """What it takes, and how it is done."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    found = _find(inline_elementwise(kernel), target)
    if found is None:
        return Declined(NONE)
    smaller, conv = found
    shape = tile_shape(target, conv.source.data.dtype)
    tile, steps = _choose(conv, shape)
    return Plan(steps * count(conv.outer), partial(_scheduled, smaller, conv, tile, shape, target))


def _find(kernel: Kernel, target: Target) -> tuple[Kernel, Depthwise] | None:
    """The kernel with the border inside such a convolution, and its parts."""
    for stage in kernel.stages:
        if isinstance(stage, Stage) and _is_sum(stage):
            smaller, inside = with_border_inside(kernel, stage)
            conv = _read(smaller, inside, target)
            if conv is not None:
                return smaller, conv
    return None


def plan_generally(func: PrimFunc, target: Target) -> Plan | Declined:
    """What the rule `rows` takes for such a convolution."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    conv = _find(kernel, target)
    if conv is None:
        return Declined(NONE)
    lines, points = count(conv[1].anchored.stage.spatial[:-1]), count(conv[1].anchored.stage.spatial[-1:])
    terms, lanes = count(conv[1].anchored.stage.reduce), conv[1].source.lanes
    return Plan(
        by_general_rule(lines, terms, points, conv[1].columns.stride > 1, lanes), partial(_generally, func, target)
    )


def _generally(func: PrimFunc, target: Target) -> PrimFunc:
    made = by_rows(func, target)
    assert not isinstance(made, Declined)
    return made


def _scheduled(kernel: Kernel, conv: Depthwise, tile: Tile, shape: TileShape, target: Target) -> PrimFunc:
    return kernel.rebuilt(surrounded(kernel, conv.origin, _emit(conv, tile, shape, target), target))


# ---------------------------------------------------------------------------------------------------- reading


def _is_sum(stage: Stage) -> bool:
    """Whether a stage could be such a convolution."""
    if stage.combiner is not tir.Add or len(stage.spatial) < 3 or not isinstance(stage.value, tir.Mul):
        return False
    return stage.buffer.dtype.is_float and stage.buffer.dtype.bits >= 32 and not stage.buffer.strides


def _read(kernel: Kernel, stage: Stage, target: Target) -> Depthwise | None:
    origin = find_anchor(kernel, lambda s: s is stage)
    assert origin is not None
    anchored = Anchored(without_single(stage), origin.epilogue)
    if groups_of(anchored.stage) is not None:
        anchored = by_group(anchored)
    plain = anchored.stage
    assert isinstance(plain.value, tir.Mul)
    for data, weight in ((plain.value.a, plain.value.b), (plain.value.b, plain.value.a)):
        seen = read_windows(plain, data, plain.spatial[-2:])
        if seen is None or not isinstance(weight, tir.BufferLoad):
            continue
        load, (rows, columns) = seen
        if not (_windows_fit(plain, rows, columns) and _loads_fit(plain, load, weight)):
            continue
        place = next(n for n, index in enumerate(load.indices) if depends(index, rows.axis.var))
        if place == len(load.indices) - 1 or depends(load.indices[place], columns.axis.var):
            continue
        line = tir.Var("line", load.indices[place].dtype)
        indices = (*load.indices[:place], line, *load.indices[place + 1 :])
        source = LineSource(columns, tir.BufferLoad(load.buffer, indices), tile_shape(target, load.dtype).lanes)
        return Depthwise(anchored, origin, rows, columns, source, line, weight)
    return None


def _windows_fit(stage: Stage, rows: Window, columns: Window) -> bool:
    if rows.tap is None or columns.tap is None or set(stage.reduce) != {rows.tap, columns.tap}:
        return False
    if rows.axis.size is None or columns.axis.size is None:
        return False
    return rows.taps <= MOST_TAPS and columns.stride <= MOST_STRIDE


def _loads_fit(stage: Stage, data: tir.BufferLoad, weight: tir.BufferLoad) -> bool:
    """Whether lines are contiguous, nothing is converted and channels (nearly) have an input of their own."""
    if data.buffer.strides or weight.buffer.strides or not data.dtype == weight.dtype == stage.buffer.dtype:
        return False
    columns = stage.spatial[-1].var
    if not depends(data.indices[-1], columns) or any(depends(i, columns) for i in data.indices[:-1]):
        return False
    if any(depends(weight, a.var) for a in stage.spatial[-2:]) or any(step(weight, a) is None for a in stage.reduce):
        return False
    return prod(a.size or 1 << 20 for a in stage.spatial[:-2] if not depends(data, a.var)) <= MOST_SHARED


# ----------------------------------------------------------------------------------------------------- tiling


def _units(points: int, shape: TileShape) -> list[int]:
    """Widths of the vectors of so many points: the last one is half as wide where that is cheaper."""
    full, rest = divmod(points, shape.lanes)
    if not rest:
        return [shape.lanes] * full
    return [*([shape.lanes] * full), shape.grain if rest <= shape.grain else shape.lanes]


def _choose(conv: Depthwise, shape: TileShape) -> tuple[Tile, float]:
    """The tile that takes the fewest steps, and those of a channel. Much code counts, too: compiling takes time."""
    lines, columns = conv.rows.axis.size, conv.columns.axis.size
    assert lines is not None
    assert columns is not None
    taps = min(conv.rows.taps, shape.registers // 4)
    best: tuple[float, Tile, float] | None = None
    for vectors in range(1, min(-(-columns // shape.lanes), MOST_VECTORS) + 1):
        most = max(1, (shape.registers - 2 - taps) // vectors)
        for height in range(1, min(most, lines) + 1):
            steps, code = _steps(conv, height, vectors, shape)
            cost = steps * (1 + code / CODE)
            if best is None or cost < best[0]:
                best = (cost, Tile(height, vectors, _band(conv, shape, height)), steps)
    assert best is not None
    packed = packing_lines(lines * conv.rows.stride, columns, conv.columns.stride, shape.lanes)
    return best[1], best[2] + packed


def _steps(conv: Depthwise, height: int, vectors: int, shape: TileShape) -> tuple[float, int]:
    """What the tiles of a channel take, by multiply-adds and by loads, and the multiply-adds that are written out."""
    lines, columns, taps = conv.rows.axis.size or 1, conv.columns.axis.size or 1, conv.columns.taps
    total, code = 0.0, 0
    wide = vectors * shape.lanes
    full, rest = divmod(columns, wide)
    runs = [(full, _units(wide, shape))] * bool(full) + [(1, _units(rest, shape))] * bool(rest)
    for tile in _tiles(0, lines, height, Piece(0, lines, *_seen(conv.rows, lines)), conv.rows):
        users = _users(conv.rows, tile)
        terms = sum(len(seeing) for seeing in users.values())
        for times, units in runs:
            steps = sum(units) / shape.lanes
            each = taps * (max(terms * steps, 2.0 * steps * len(users) + 0.5 * conv.rows.taps, 4.0) + 2)
            total += tile.repeats * times * (each + 3 * tile.points * steps)
            code += terms * len(units)
    return total, code


def _seen(window: Window, points: int) -> tuple[int, int]:
    """The lines that exist of what all points see, counted from what the first tap of the first point sees."""
    reach = (points - 1) * window.stride + (window.taps - 1) * window.dilation + 1
    low = min(max(0, window.begin), reach)
    return low, max(low, min(reach, window.size + window.begin))


def _band(conv: Depthwise, shape: TileShape, lines: int) -> int:
    """Output lines whose input is packed at once: as many whole tiles as the cache has room for."""
    size = conv.rows.axis.size or 1
    width = conv.columns.taps // conv.columns.stride + min(conv.columns.axis.size or 1, MOST_VECTORS * shape.lanes)
    room = BAND // (width * conv.columns.stride) - (conv.rows.taps - 1) * conv.rows.dilation
    return min(size, max(1, room // (conv.rows.stride * lines)) * lines)


def _tiles(start: int, lines: int, most: int, band: Piece, window: Window) -> list[Piece]:
    """Lines from `start` on of a band in tiles, those alike and next to each other as one."""
    every = []
    for first in range(start, lines, most):
        points = min(most, lines - first)
        seen = (points - 1) * window.stride + (window.taps - 1) * window.dilation + 1
        low = min(max(0, band.low - first * window.stride), seen)
        every.append(Piece(first, points, low, max(low, min(seen, band.high - first * window.stride))))
    alike = [list(run) for _, run in groupby(every, key=lambda p: (p.points, p.low, p.high))]
    return [replace(run[0], repeats=len(run)) for run in alike]


def _users(window: Window, tile: Piece) -> dict[int, list[tuple[int, int]]]:
    """The (output line, tap) of a tile that see each of its input lines, as far as those exist."""
    found: dict[int, list[tuple[int, int]]] = {}
    for point in range(tile.points):
        for tap in range(window.taps):
            line = point * window.stride + tap * window.dilation
            if tile.low <= line < tile.high:
                found.setdefault(line, []).append((point, tap))
    return dict(sorted(found.items()))


# ------------------------------------------------------------------------------------------------------ loops


def _emit(conv: Depthwise, tile: Tile, shape: TileShape, target: Target) -> st.Stmt:
    bands = pieces_of(conv.rows, tile.band)
    which = Axis(index_var("band"), i64(sum(b.repeats for b in bands)))

    def of(band: Piece, number: PrimExpr) -> st.Stmt:
        start = (
            ops.add(ops.multiply(number, i64(band.points)), i64(band.start)) if band.repeats > 1 else i64(band.start)
        )
        return sequence(
            *_over(
                pieces_of(conv.columns, MOST_VECTORS * shape.lanes),
                lambda piece, at: _piece(conv, tile, shape, _Part(band, start, piece, at)),
            )
        )

    body = _one_of(which.var, bands, of)
    steps = conv.rows.taps * conv.columns.taps * tile.band * len(_units(conv.columns.axis.size or 1, shape))
    return parallel_rows((*conv.outer, which), steps, body, target.num_cores)


def _one_of(which: tir.Var, pieces: Sequence[Piece], body: Callable[[Piece, PrimExpr], st.Stmt]) -> st.Stmt:
    """The body of the piece with a number, and its number among those alike."""
    end = sum(p.repeats for p in pieces)
    found: st.Stmt | None = None
    for piece in reversed(pieces):
        end -= piece.repeats
        here = body(piece, ops.subtract(which, i64(end)))
        found = here if found is None else st.IfThenElse(tir.LT(which, i64(end + piece.repeats)), here, found)
    assert found is not None
    return found


def _over(pieces: Sequence[Piece], body: Callable[[Piece, PrimExpr], st.Stmt]) -> list[st.Stmt]:
    """The bodies of all pieces, with where each one starts."""
    parts = []
    for piece in pieces:
        if piece.repeats == 1:
            parts.append(body(piece, i64(piece.start)))
            continue
        number = index_var("piece")
        at = ops.add(ops.multiply(number, i64(piece.points)), i64(piece.start))
        parts.append(loop(number, piece.repeats, body(piece, at)))
    return parts


@dataclass(frozen=True, eq=False)
class _Part:
    """A band of lines and a piece of them, and where they start in the result."""

    band: Piece
    line: PrimExpr
    piece: Piece
    column: PrimExpr


def _piece(conv: Depthwise, tile: Tile, shape: TileShape, part: _Part) -> st.Stmt:
    """Pack what a part of the result sees, then all its tiles."""
    packed = _packed(conv, part, shape)
    band, lines = part.band, index_var("line")
    line = ops.add(lines, i64(band.low))
    top = ops.subtract(ops.multiply(part.line, i64(conv.rows.stride)), i64(conv.rows.begin))
    where: dict[tir.Var, PrimExpr] = {conv.line: ops.cast(conv.line.dtype, ops.add(top, line))}
    copied = copied_line(conv.source, part.piece, packed, line, part.column, where)
    parts = [loop(lines, band.high - band.low, copied)] if band.high > band.low else []
    wide = tile.vectors * shape.lanes
    full, rest = divmod(part.piece.points, wide)
    runs = [Piece(0, wide, 0, 0, full)] if full else []
    runs += [Piece(full * wide, rest, 0, 0)] if rest else []
    for lines_of in _tiles(0, band.points, tile.lines, band, conv.rows):
        parts += _over(
            [lines_of],
            lambda lines, row: sequence(
                *_over(
                    runs,
                    lambda run, column: _sums(
                        conv, lines, _units(run.points, shape), _At(part, packed, row, column, run.points)
                    ),
                )
            ),
        )
    return allocated(packed.buffer, sequence(*parts))


def _packed(conv: Depthwise, part: _Part, shape: TileShape) -> Packed:
    pitch = conv.source.pitch(-(-part.piece.points // shape.lanes))
    slots = {phase: phase for phase in sorted(conv.source.phases)}
    size = max(1, part.band.high) * (max(slots) + 1) * pitch
    return Packed(local_buffer("packed", (size,), conv.source.data.dtype), pitch, slots)


@dataclass(frozen=True, eq=False)
class _At:
    """Where a tile is: its part, the part's packed input, and its first line and column, counted from the part's."""

    part: _Part
    packed: Packed
    row: PrimExpr
    column: PrimExpr
    points: int


def _sums(conv: Depthwise, tile: Piece, widths: list[int], at: _At) -> st.Stmt:
    """All multiply-adds of a tile, and its results."""
    dtype = conv.source.data.dtype
    starts = [sum(widths[:n]) for n in range(len(widths))]
    pitch = sum(widths)
    acc = local_buffer("acc", (tile.points * pitch,), dtype)
    tap = index_var("tap")
    weights = [tir.Var(f"w{n}", dtype) for n in range(conv.rows.taps)]

    def place(line: int, vector: int) -> tir.Ramp:
        return tir.Ramp(i64(line * pitch + starts[vector]), i64(1), widths[vector])

    def term(point: int, vector: int, weight: tir.Var, seen: tir.Var) -> st.Stmt:
        there = place(point, vector)
        value = tir.Mul(tir.Broadcast(weight, widths[vector]), seen)
        return st.BufferStore(acc, tir.Add(tir.BufferLoad(acc, (there,)), value), (there,))

    users = _users(conv.rows, tile)
    first, parts = index_var("first"), []
    for line, seeing in users.items():
        for vector, width in enumerate(widths):
            seen = tir.Var("x", dtype.with_lanes(width))
            from_line = tir.Ramp(ops.add(first, i64(line * at.packed.line + starts[vector])), i64(1), width)
            terms = [term(point, vector, weights[tap], seen) for point, tap in seeing]
            parts.append(st.LetStmt(seen, tir.BufferLoad(at.packed.buffer, (from_line,)), sequence(*terms)))
    zeros = [
        st.BufferStore(acc, tir.Broadcast(conv.init, width), (place(point, vector),))
        for point in range(tile.points)
        for vector, width in enumerate(widths)
    ]
    body = [*zeros, *([_by_column(conv, at, tap, first, weights, sequence(*parts))] if parts else [])]
    return allocated(acc, sequence(*body, *_written(conv, tile, widths, acc, at)))


def _by_column(
    conv: Depthwise, at: _At, tap: tir.Var, first: tir.Var, weights: list[tir.Var], body: st.Stmt
) -> st.Stmt:
    """`body` for each column of the window, its weights and where its first line begins being bound."""
    window, packed = conv.columns, at.packed
    assert window.tap is not None
    assert conv.rows.tap is not None
    away = ops.multiply(tap, i64(window.dilation))
    start = ops.floordiv(away, i64(window.stride))
    if window.stride > 1:
        start = ops.add(start, ops.multiply(ops.floormod(away, i64(window.stride)), i64(packed.pitch)))
    row = ops.multiply(at.row, i64(conv.rows.stride * packed.line))
    for number, var in reversed(list(enumerate(weights))):
        where = {
            window.tap.var: ops.cast(window.tap.var.dtype, tap),
            conv.rows.tap.var: tir.IntImm(conv.rows.tap.var.dtype, number),
        }
        body = st.LetStmt(var, substitute_and_fold(conv.weight, where), body)
    body = st.LetStmt(first, ops.add(ops.add(row, at.column), start), body)
    return loop(tap, window.taps, body)


def _written(conv: Depthwise, tile: Piece, widths: list[int], acc: Buffer, at: _At) -> list[st.Stmt]:
    """The tile's results through the epilogue."""
    parts: list[st.Stmt] = []
    for point in range(tile.points):
        done = 0
        for width in widths:
            lane = index_var("v")
            value = tir.BufferLoad(acc, (ops.add(i64(point * sum(widths) + done), lane),))
            places: dict[tir.Var, PrimExpr] = {
                conv.rows.axis.var: ops.add(ops.add(at.part.line, at.row), i64(point)),
                conv.columns.axis.var: ops.add(ops.add(at.part.column, at.column), ops.add(i64(done), lane)),
            }
            store = conv.anchored.store(value, places)
            left = at.points - done
            parts.append(
                loop(lane, width, store if left >= width else st.IfThenElse(tir.LT(lane, i64(left)), store), VECTORIZED)
            )
            done += width
    return parts
