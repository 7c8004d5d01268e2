"""Direct convolutions over blocked output channels (NCHW16c), dense or depthwise, in register tiles.

    Y[n, co, h, w, lane] = sum over c.., kh, kw of X(n, c.., h*s + kh, w*s + kw) * W(co, lane, c.., kh, kw)

A tile is a run of neighbouring points of one output row, for a few blocks of output channels: each sum is a vector of
one block. Weights are vector loads, inputs broadcasts (depthwise: vector loads, too). Nothing is packed or copied,
except the border of rows whose length is known only at run time (`blocked_borders`). Padded taps are left out: rows by
the limits of the loop over kh, columns by separate tiles at the edges of the row. The loop over channels is outside,
taps are between, and the block of input channels is innermost and not unrolled: if the taps were unrolled, LLVM would
share the overlapping loads of neighbouring taps and run out of registers.

int8 uses dot-product instructions: a broadcast word is four input channels of a point, a weight vector has words of the
same four for each output channel of a block.

Windows of one tap over whole rows (1x1) are products of matrices: their points are one long row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.blocked_borders import Border, band_copied, border_of, maps_copied
from baton._src.lower.kernel_schedules.convolution.blocked_conv_parts import WORD, BlockedConv, read_conv
from baton._src.lower.kernel_schedules.convolution.blocked_depthwise import depthwise_row
from baton._src.lower.kernel_schedules.convolution.blocked_shapes import row_taps, tile_shape
from baton._src.lower.kernel_schedules.convolution.blocked_tiles import (
    Place,
    Point,
    Stream,
    Tile,
    Turns,
    tiles_of,
)
from baton._src.lower.kernel_schedules.convolution.conv_window import Window
from baton._src.lower.kernel_schedules.convolution.results_ahead import result_prefetches, results_are_far
from baton._src.lower.kernel_schedules.convolution.weights_ahead import weight_prefetches
from baton._src.lower.kernel_schedules.products.dots import Dot, dot_instruction, words_at
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    UNROLLED,
    VECTORIZED,
    allocated,
    constant,
    i64,
    index_var,
    loop,
    nest,
    parallel_rows,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.passes.tir.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc

DEPTHWISE_STEP = 4
"""Time of a depthwise multiply-add in those of a dense one: two loads, little reuse."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    found = read_conv(func)
    if isinstance(found, Declined):
        return found
    kernel, conv = found
    if not conv.anchored.stage.buffer.dtype.is_float and not conv.is_depthwise and _dot(conv, target) is None:
        return Declined("sums of integers, but not of words that an instruction takes")
    border = border_of(conv)
    if isinstance(border, Declined):
        return border
    if border is None:
        body = _emit(conv, target)
    elif conv.is_depthwise and not conv.channels:
        body = _by_bands(conv, border, target)
    else:
        inside, copy, copying = maps_copied(conv, border, target)
        kernel = replace(kernel, local=(*kernel.local, copy))
        body = sequence(copying, _emit(inside, target))
    return kernel.rebuilt(surrounded(kernel, conv.origin, body, target))


def _dot(conv: BlockedConv, target: Target) -> Dot | None:
    """The instruction for a step over words; None: plain multiply-adds."""
    if not conv.words:
        return None
    total = conv.anchored.stage.buffer.dtype
    return dot_instruction(conv.data.dtype, load_of(conv.weight).dtype, total, target, conv.width)


# ----------------------------------------------------------------------------------------------------- loops


def _emit(conv: BlockedConv, target: Target) -> st.Stmt:
    stage = conv.anchored.stage
    count, points, lines = tile_shape(conv, target)
    tiles = tiles_of(conv.columns, points)
    group = Axis(index_var("group"), ops.floordiv(conv.blocks.extent, i64(count)))
    wait = _weights_wait(conv, count, target)
    outer = [group, stage.spatial[0]] if wait else [stage.spatial[0], group]
    dot, turns = _dot(conv, target), Turns.of(conv, points, lines, every_image=wait)
    far = results_are_far(conv, target)
    taps = row_taps(conv, target)
    place = Place(ops.multiply(group.var, i64(count)), count, None, taps=taps, dot=dot, turns=turns, far=far)
    size = ops.multiply(as_int64(conv.columns.axis.extent), i64(lines))
    if conv.rows is not None and lines == 2:
        pair, body = _pairs(conv, tiles, place)
        outer.append(pair)
    elif conv.rows is not None:
        outer.append(conv.rows.axis)
        body = _line(conv, tiles, replace(place, row=conv.rows.axis.var))
    else:
        which, body = _each_tile(conv, tiles, place)
        outer.append(which)
        size = i64(tiles[0].points)
    lanes = max(2, target.lanes(32))
    work = product([a.extent for a in stage.reduce])
    if conv.is_depthwise:
        work = ops.multiply(work, i64(DEPTHWISE_STEP))
    elif dot is not None:
        work = ops.floordiv(work, i64(dot.group))
    each = ops.max(i64(1), ops.floordiv(ops.multiply(size, i64(count * conv.width)), i64(lanes)))
    cost = ops.multiply(work, each)
    return parallel_rows(outer, cost, body, target.num_cores)


def _by_bands(conv: BlockedConv, border: Border, target: Target) -> st.Stmt:
    """A depthwise convolution over rows of unknown length: a band of lines of a block is copied with its border."""
    image = conv.anchored.stage.spatial[0]
    band = band_copied(conv, border, conv.data.indices[: border.place])
    _, points, _ = tile_shape(band.conv, target)
    row = index_var("row")
    place = Place(conv.blocks.var, 1, ops.add(band.top, row), taps=row_taps(conv, target))
    sums = loop(row, band.rows, _line(band.conv, tiles_of(band.conv.columns, points), place))
    body = allocated(band.buffer, sequence(band.copied, sums))
    lanes = max(2, target.lanes(32))
    each = product([a.extent for a in conv.anchored.stage.reduce])
    each = ops.multiply(each, i64(max(1, DEPTHWISE_STEP * conv.width // lanes) * band.height))
    work = ops.multiply(each, as_int64(border.columns.axis.extent))
    return parallel_rows((image, conv.blocks, band.axis), work, body, target.num_cores)


def _weights_wait(conv: BlockedConv, count: int, target: Target) -> bool:
    """Whether all images pass by one group of blocks after the other: weights that no cache of a core holds are then
    read once, not for each image; the images, once for each group, must be less.
    """
    if conv.anchored.stage.spatial[0].size == 1 or conv.is_depthwise:
        return False
    weight, data = load_of(conv.weight).buffer, conv.data.buffer
    elements, each = constant(product(weight.shape)), constant(product(data.shape[1:]))
    if elements is None or each is None or elements * weight.dtype.bits // 8 <= target.cpu.l2_bytes:
        return False
    return (conv.blocks.size or 1) // count * each < elements


def _each_tile(conv: BlockedConv, tiles: list[Tile], place: Place) -> tuple[Axis, st.Stmt]:
    """A loop over all tiles of a row, the last of which may be smaller: each is work for a thread of its own."""
    which = index_var("tile")
    end: PrimExpr = i64(0)
    parts = []
    for tile in tiles:
        start = ops.add(ops.multiply(ops.subtract(which, end), i64(tile.points)), tile.start)
        end = ops.add(end, tile.repeats)
        parts.append((end, _tile(conv, tile, place, tile.start if constant(tile.repeats) == 1 else start)))
    body = parts[-1][1]
    for last, here in reversed(parts[:-1]):
        body = st.IfThenElse(tir.LT(which, last), here, body)
    return Axis(which, end), body


def _pairs(conv: BlockedConv, tiles: list[Tile], place: Place) -> tuple[Axis, st.Stmt]:
    """A loop over pairs of rows, the last of which may be a single one."""
    assert conv.rows is not None
    size = conv.rows.axis.size
    assert size is not None
    pair = Axis(index_var("pair"), i64(-(-size // 2)))
    top = ops.multiply(pair.var, i64(2))
    both = _line(conv, tiles, replace(place, row=top, rows=2))
    if size % 2 == 0:
        return pair, both
    return pair, st.IfThenElse(tir.LT(top, i64(size - 1)), both, _line(conv, tiles, replace(place, row=top)))


def _line(conv: BlockedConv, tiles: list[Tile], place: Place) -> st.Stmt:
    """All tiles of a row or two."""
    parts = []
    for tile in tiles:
        if constant(tile.repeats) == 1:
            parts.append(_tile(conv, tile, place, tile.start))
            continue
        which = index_var("tile")
        start = ops.add(ops.multiply(which, i64(tile.points)), tile.start)
        parts.append(loop(which, tile.repeats, _tile(conv, tile, place, start)))
    return sequence(*parts)


def _tile(conv: BlockedConv, tile: Tile, place: Place, start: PrimExpr) -> st.Stmt:
    stage = conv.anchored.stage
    acc = Accumulators.of(place.blocks * place.rows * tile.points, conv.width, stage.buffer.dtype)
    init = stage.init
    assert init is not None

    def store(at: Point) -> st.Stmt:
        where: dict[tir.Var, PrimExpr] = {
            conv.blocks.var: ops.add(place.block, at.block),
            conv.columns.axis.var: ops.add(start, at.point),
            conv.lane.var: at.lane,
        }
        if conv.rows is not None and place.row is not None:
            where[conv.rows.axis.var] = ops.add(place.row, at.row)
        return conv.anchored.store(acc.load(place.sum_of(tile, at), at.lane), where)

    def prefetches(at: Point) -> st.Stmt:
        return result_prefetches(conv, store, replace(at, lane=i64(0)))

    every = (0, place.rows), (0, tile.points)
    ahead = [_each_sum(conv, place, *every, prefetches, whole=True)] if place.far else []
    written = _each_sum(conv, place, *every, store)
    taps = _taps(conv, tile, acc, place, start)
    return allocated(acc.buffer, sequence(*ahead, acc.each(lambda row, lane: init), taps, written))


def _each_sum(
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


def _taps(conv: BlockedConv, tile: Tile, acc: Accumulators, place: Place, start: PrimExpr) -> st.Stmt:
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

    body = data.bound(weight.bound(_each_sum(conv, place, run.rows, run.seen, update)))
    body = nest([Axis(var, axis.extent) for axis, var in inner], body)
    begin = substitute_and_fold(weight.place, {var: i64(0) for _, var in inner})
    body = sequence(*weight_prefetches(conv, weight, begin, place, start), body)
    return body if run.count == 1 else loop(tap, run.count, body)


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

    body = _each_sum(conv, place, run.rows, run.seen, update, whole=True)
    size = (channel.size or 0) // WORD
    begin = substitute_and_fold(weight.place, {word: i64(0)})
    ahead = weight_prefetches(conv, weight, begin, place, start)
    body = sequence(*ahead, loop(word, size, data.bound(weight.bound(body))))
    return body if run.count == 1 else loop(tap, run.count, body)
