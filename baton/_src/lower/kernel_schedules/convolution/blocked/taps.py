"""The multiply-adds of a tile of a direct convolution over blocks (`conv_blocked`): rows of the window, runs of its
columns that see the same points, a block of input channels.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.blocked.depthwise import depthwise_row
from baton._src.lower.kernel_schedules.convolution.blocked.parts import WORD, BlockedConv
from baton._src.lower.kernel_schedules.convolution.blocked.tiles import Place, Point, Stream, Tile
from baton._src.lower.kernel_schedules.convolution.blocked.weights_ahead import weight_prefetches
from baton._src.lower.kernel_schedules.convolution.conv_window import Window
from baton._src.lower.kernel_schedules.products.dots import words_at
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, unrolled_by
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import UNROLLED, VECTORIZED, i64, index_var, loop, nest, sequence
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st


def each_sum(
    conv: BlockedConv,
    place: Place,
    rows: tuple[int, int],
    points: tuple[int, int],
    body: Callable[[Point], st.Stmt],
    whole: bool = False,
) -> st.Stmt:
    """`body` for every sum of some rows and points, written out; for `whole` vectors or every lane of one.

    Points outside, blocks inside: the weights stay in registers, each input for a moment only.
    """
    r, p, j, lane = index_var("r"), index_var("p"), index_var("j"), index_var("v")
    at = Point(j, ops.add(r, i64(rows[0])), ops.add(p, i64(points[0])), lane)
    vectors = loop(j, place.blocks, body(at) if whole else loop(lane, conv.width, body(at), VECTORIZED), UNROLLED)
    return loop(r, rows[1] - rows[0], loop(p, points[1] - points[0], vectors, UNROLLED), UNROLLED)


def window_sums(conv: BlockedConv, tile: Tile, acc: Accumulators, place: Place, start: PrimExpr) -> st.Stmt:
    """All multiply-adds of a tile: outer channels, rows of the window, runs of columns of the window, a block."""

    def columns(rows: tuple[int, int]) -> st.Stmt:
        if place.taps > 1:
            return depthwise_row(conv, tile, acc.buffer, place, start)
        runs = []
        for seen, taps in groupby(range(len(tile.seen)), key=lambda r: tile.seen[r]):
            numbers = list(taps)
            if seen[0] < seen[1]:
                runs.append(_run(conv, tile, acc, _Run(rows, seen, numbers[0], len(numbers)), place, start))
        return sequence(*runs) if runs else st.Evaluate(tir.IntImm("int32", 0))

    window = conv.rows
    if window is None or place.row is None:
        return nest(conv.channels[:-1], columns((0, 1)))
    parts: list[st.Stmt] = []
    for rows, first, last in _shared_taps(window, place):
        count = ops.subtract(last, first)
        if isinstance(count, tir.IntImm) and count.value <= 0:
            continue
        if window.tap is None:
            parts.append(st.IfThenElse(tir.LT(first, last), columns(rows)))
            continue
        tap = index_var("kh")
        where = {window.tap.var: ops.cast(window.tap.var.dtype, ops.add(first, tap))}
        parts.append(loop(tap, count, substitute_and_fold(columns(rows), where)))
    return nest(conv.channels[:-1], sequence(*parts) if parts else st.Evaluate(tir.IntImm("int32", 0)))


def _shared_taps(window: Window, place: Place) -> list[tuple[tuple[int, int], PrimExpr, PrimExpr]]:
    """Ranges of the window's rows by the rows of the tile that see the input through them.

    The lower of two rows sees it through no later taps than the upper one: first only it, then both, then the upper.
    """
    assert place.row is not None
    first, last = window.range_at(place.row)
    if place.rows == 1:
        return [((0, 1), first, last)]
    early, end = window.range_at(ops.add(place.row, i64(1)))
    both_end = ops.max(first, end)
    return [((1, 2), early, ops.max(early, ops.min(first, end))), ((0, 2), first, both_end), ((0, 1), both_end, last)]


@dataclass(frozen=True)
class _Run:
    """Neighbouring taps of the columns that see the same points of a tile, for some of its rows."""

    rows: tuple[int, int]
    seen: tuple[int, int]
    first: int
    count: int


def _run(conv: BlockedConv, tile: Tile, acc: Accumulators, run: _Run, place: Place, start: PrimExpr) -> st.Stmt:
    """The multiply-adds of a run of taps over one block of input channels."""
    columns = conv.columns
    where: dict[tir.Var, PrimExpr] = {columns.axis.var: start, conv.blocks.var: place.block}
    if conv.rows is not None and place.row is not None:
        where[conv.rows.axis.var] = place.row
    tap = index_var("kw")
    if columns.tap is not None:
        number = i64(run.first) if run.count == 1 else ops.add(tap, i64(run.first))
        where[columns.tap.var] = ops.cast(columns.tap.var.dtype, number)
    # Axes of the loops here get fresh variables: other runs have the same loops.
    inner = [(a, tir.Var(a.var.name, a.var.dtype)) for a in conv.channels[-1:]]
    where |= {axis.var: var for axis, var in inner}
    if place.dot is not None:
        return _words(conv, tile, acc, run, place, where, tap, start)
    data, weight = Stream.of(conv.seen_from(place.block), where, conv), Stream.of(load_of(conv.weight), where, conv)
    dtype = acc.buffer.dtype

    def update(at: Point) -> st.Stmt:
        number = place.sum_of(tile, at)
        term = tir.Mul(ops.cast(dtype, data.load(at)), ops.cast(dtype, weight.load(at)))
        return st.BufferStore(acc.buffer, tir.Add(acc.load(number, at.lane), term), (acc.at(number, at.lane),))

    body = data.bound(weight.bound(each_sum(conv, place, run.rows, run.seen, update)))
    body = _over_channels([Axis(var, axis.extent) for axis, var in inner], place.channels, body)
    begin = substitute_and_fold(weight.place, {var: i64(0) for _, var in inner})
    body = sequence(*weight_prefetches(conv, weight, begin, place, start), body)
    return body if run.count == 1 else loop(tap, run.count, body)


def _over_channels(inner: list[Axis], steps: int, body: st.Stmt) -> st.Stmt:
    """`body` for a block of input channels, so many at a time."""
    if steps == 1 or not inner:
        return nest(inner, body)
    (axis,) = inner

    def at(channel: PrimExpr) -> st.Stmt:
        return st.LetStmt(axis.var, ops.cast(axis.var.dtype, channel), body)

    return unrolled_by(steps, axis.extent, axis.var.name, at)


def _words(
    conv: BlockedConv,
    tile: Tile,
    acc: Accumulators,
    run: _Run,
    place: Place,
    where: dict[tir.Var, PrimExpr],
    tap: tir.Var,
    start: PrimExpr,
) -> st.Stmt:
    """The same by a dot instruction, a word of input channels a step."""
    dot, channel, lanes = place.dot, conv.channels[-1], conv.width
    assert dot is not None
    word = index_var("word")
    where[channel.var] = ops.cast(channel.var.dtype, ops.multiply(word, i64(WORD)))
    data, weight = Stream.of(conv.seen_from(place.block), where, conv), Stream.of(load_of(conv.weight), where, conv)

    def update(at: Point) -> st.Stmt:
        lane = tir.Ramp(acc.at(place.sum_of(tile, at), i64(0)), i64(1), lanes)
        seen = tir.Broadcast(words_at(data.load(at), 1, WORD), lanes)
        total = dot(tir.BufferLoad(acc.buffer, (lane,)), seen, words_at(weight.first(at), lanes, WORD))
        return st.BufferStore(acc.buffer, total, (lane,))

    body = each_sum(conv, place, run.rows, run.seen, update, whole=True)
    size = (channel.size or 0) // WORD
    begin = substitute_and_fold(weight.place, {word: i64(0)})
    ahead = weight_prefetches(conv, weight, begin, place, start)
    body = sequence(*ahead, loop(word, size, data.bound(weight.bound(body))))
    return body if run.count == 1 else loop(tap, run.count, body)
