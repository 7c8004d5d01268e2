"""Direct convolutions over blocked output channels (NCHW16c), dense or depthwise, in register tiles.

    Y[n, co, h, w, lane] = sum over c.., kh, kw of X(n, c.., h*s + kh, w*s + kw) * W(co, lane, c.., kh, kw)

A tile is a run of neighbouring points of one output row, for a few blocks of output channels: each sum is a vector of
one block. Weights are vector loads, inputs broadcasts (depthwise: vector loads, too). Nothing is packed or copied,
except the border of rows whose length is known only at run time (`borders`). Padded taps are skipped: rows by
the bounds of the loop over kh, columns by separate tiles at the edges of the row. The loop over channels is outermost,
then the taps, and the block of input channels is innermost and not unrolled: if the taps were unrolled, LLVM would
share the overlapping loads of neighbouring taps and run out of registers.

int8 uses dot-product instructions: a broadcast word is four input channels of a point, a weight vector has words of the
same four for each output channel of a block.

Windows of one tap over whole rows (1x1) are products of matrices: their points are one long row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.blocked.borders import Border, band_copied, border_of, maps_copied
from baton._src.lower.kernel_schedules.convolution.blocked.channel_chunks import Chunks
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv, read_conv
from baton._src.lower.kernel_schedules.convolution.blocked.results_ahead import result_prefetches, results_are_far
from baton._src.lower.kernel_schedules.convolution.blocked.shapes import (
    channels_at_once,
    parts_of_map,
    row_taps,
    tile_shape,
)
from baton._src.lower.kernel_schedules.convolution.blocked.strided_points import with_points_copied
from baton._src.lower.kernel_schedules.convolution.blocked.taps import each_sum, window_sums
from baton._src.lower.kernel_schedules.convolution.blocked.tiles import Place, Point, Tile, Turns, tiles_of
from baton._src.lower.kernel_schedules.products.dots import Dot, dot_instruction
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import (
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
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc

DEPTHWISE_STEP = 4
"""Cost of a depthwise multiply-add relative to a dense one: two loads, little reuse."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    found = read_conv(func)
    if isinstance(found, Declined):
        return found
    kernel, conv = with_points_copied(*found, target)
    is_float = conv.anchored.stage.buffer.dtype.is_float
    if (conv.words or not is_float) and not conv.is_depthwise and _dot(conv, target) is None:
        return Declined("sums of integers or of words, but not such that an instruction takes")
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
    """The dot instruction for a step over words; None for plain multiply-adds."""
    if not conv.words:
        return None
    total = conv.anchored.stage.buffer.dtype
    return dot_instruction(conv.data.dtype, load_of(conv.weight).dtype, total, target, conv.width)


def _emit(conv: BlockedConv, target: Target) -> st.Stmt:
    stage = conv.anchored.stage
    count, points, lines = tile_shape(conv, target)
    group = Axis(index_var("group"), ops.floordiv(conv.blocks.extent, i64(count)))
    wait = _weights_wait(conv, count, target)
    parts = 1 if wait else parts_of_map(conv, points, lines, target)
    turns = Turns.of(conv, points, lines, every_image=wait, near=not target.cpu.far_memory, parts=parts)
    dot, far = _dot(conv, target), results_are_far(conv, target)
    taps = row_taps(conv, target)
    place = Place(ops.multiply(group.var, i64(count)), count, None, taps=taps, dot=dot, turns=turns, far=far)
    tasks = (stage.spatial[0].size or 1) * (conv.blocks.size or 1) // count * parts
    if dot is None and not conv.is_depthwise:
        place = replace(place, channels=channels_at_once(target, conv.width, count * points * lines, count))
    chunks = None if wait else Chunks.of(conv, (count, points, lines), tasks, target)
    if chunks is not None:
        conv, place = chunks.part_of(conv), replace(place, chunks=chunks)
    across, body, size = _across(conv, tiles_of(conv.columns, points), place, lines)
    outer = [group, stage.spatial[0], across] if wait else [stage.spatial[0], group, across]
    if parts > 1:
        part, inside, body = _cut(across, body, parts)
        outer = [stage.spatial[0], part, group, inside]
    if chunks is not None:
        *outer, tiles = outer
        body = allocated(chunks.sums, loop(chunks.var, chunks.count, nest([tiles], body)))
        size = ops.multiply(size, as_int64(tiles.extent))
    lanes = max(2, target.lanes(32))
    work = product([a.extent for a in stage.reduce])
    if conv.is_depthwise:
        work = ops.multiply(work, i64(DEPTHWISE_STEP))
    elif dot is not None:
        work = ops.floordiv(work, i64(dot.group))
    each = ops.max(i64(1), ops.floordiv(ops.multiply(size, i64(count * conv.width)), i64(lanes)))
    cost = ops.multiply(work, each)
    return parallel_rows(outer, cost, body, target.num_cores)


def _across(conv: BlockedConv, tiles: list[Tile], place: Place, lines: int) -> tuple[Axis, st.Stmt, PrimExpr]:
    """The loop over rows of a map, pairs of rows or tiles of its only row; its body; and the points of an iteration."""
    if conv.rows is None:
        which, body = _each_tile(conv, tiles, place)
        return which, body, i64(tiles[0].points)
    if lines == 2:
        rows, body = _pairs(conv, tiles, place)
    else:
        rows, body = conv.rows.axis, _line(conv, tiles, replace(place, row=conv.rows.axis.var))
    return rows, body, ops.multiply(as_int64(conv.columns.axis.extent), i64(lines))


def _cut(axis: Axis, body: st.Stmt, parts: int) -> tuple[Axis, Axis, st.Stmt]:
    """A loop of known extent as one over equal parts and one within a part."""
    part, inside = index_var("part"), Axis(index_var("inside"), i64((axis.size or 0) // parts))
    at = ops.add(ops.multiply(part, inside.extent), inside.var)
    return Axis(part, i64(parts)), inside, st.LetStmt(axis.var, ops.cast(axis.var.dtype, at), body)


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
    """Whether all images are processed for one group of blocks before the next: weights that exceed each core's cache
    are then read once instead of once per image, but the images once per group, which must be less.
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
    """All tiles of one or two rows."""
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
    ahead = [each_sum(conv, place, *every, prefetches, whole=True)] if place.far else []
    begun, written = acc.each(lambda row, lane: init), each_sum(conv, place, *every, store)
    if place.chunks is not None:
        resumed, left = (each_sum(conv, place, *every, kept) for kept in _kept_sums(place, tile, acc, start))
        begun = st.IfThenElse(place.chunks.is_first, begun, resumed)
        written = st.IfThenElse(place.chunks.is_last, written, left)
    taps = window_sums(conv, tile, acc, place, start)
    return allocated(acc.buffer, sequence(*ahead, begun, taps, written))


def _kept_sums(
    place: Place, tile: Tile, acc: Accumulators, start: PrimExpr
) -> tuple[Callable[[Point], st.Stmt], Callable[[Point], st.Stmt]]:
    """What takes up a sum where the chunk of channels before left it, and what leaves it to the next."""
    chunks = place.chunks
    assert chunks is not None

    def where(at: Point) -> tuple[PrimExpr, ...]:
        row = None if place.row is None else ops.add(place.row, at.row)
        return chunks.place(at.block, row, ops.add(start, at.point), at.lane)

    def resumed(at: Point) -> st.Stmt:
        return st.BufferStore(
            acc.buffer, tir.BufferLoad(chunks.sums, where(at)), (acc.at(place.sum_of(tile, at), at.lane),)
        )

    def left(at: Point) -> st.Stmt:
        return st.BufferStore(chunks.sums, acc.load(place.sum_of(tile, at), at.lane), where(at))

    return resumed, left
