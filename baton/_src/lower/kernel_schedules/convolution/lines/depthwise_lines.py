"""Depthwise convolutions (channels first) whose tiles span several lines, so that loads are shared between taps.

    Y[.., c, h, w] = sum over i, j of X[.., c, h * s + i * d - b, w * t + j * e - f] * W[c, i, j]

An unaligned load of X takes as long as two multiply-adds, so several must share it. For one column j of the window, a
vector of input line l belongs to all output lines h with l = h * s + i * d - b. A tile has a few vectors of as many
output lines as fit in the registers, and each vector of the input lines is loaded once for each j. The weights of a
column of the window stay in registers meanwhile.

A band of lines is packed first, with a border of zeros and split into the phases of the stride (`line_pieces`); it
stays in L1. Input lines outside the map are neither packed nor multiplied: tiles at the upper and lower edge have code
of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan, by_general_rule, count
from baton._src.lower.kernel_schedules.convolution.lines.depthwise_parts import Depthwise, find_depthwise
from baton._src.lower.kernel_schedules.convolution.lines.depthwise_tiles import (
    MOST_VECTORS,
    Tile,
    choose_tile,
    tiles_of,
    users_of,
    vector_widths,
)
from baton._src.lower.kernel_schedules.convolution.lines.line_pieces import Packed, Piece, copied_line, pieces_of
from baton._src.lower.kernel_schedules.products.tiles import TileShape, tile_shape
from baton._src.lower.kernel_schedules.rows import apply as by_rows
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
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

NONE = "no stage is a depthwise convolution over lines"


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    found = plan(func, target)
    return found if isinstance(found, Declined) else found.make()


def plan(func: PrimFunc, target: Target) -> Plan | Declined:
    """The cost of this rule, and how to apply it."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    found = find_depthwise(inline_elementwise(kernel), target)
    if found is None:
        return Declined(NONE)
    smaller, conv = found
    shape = tile_shape(target, conv.source.data.dtype)
    tile, steps = choose_tile(conv, shape)
    return Plan(steps * count(conv.outer), partial(_scheduled, smaller, conv, tile, shape, target))


def plan_generally(func: PrimFunc, target: Target) -> Plan | Declined:
    """The cost of the rule `rows` for such a convolution."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    conv = find_depthwise(kernel, target)
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
    steps = conv.rows.taps * conv.columns.taps * tile.band * len(vector_widths(conv.columns.axis.size or 1, shape))
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
    for lines_of in tiles_of(0, band.points, tile.lines, band, conv.rows):
        parts += _over(
            [lines_of],
            lambda lines, row: sequence(
                *_over(
                    runs,
                    lambda run, column: _sums(
                        conv, lines, vector_widths(run.points, shape), _At(part, packed, row, column, run.points)
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

    users = users_of(conv.rows, tile)
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
