"""Convolutions of few output points: dot products of each channel's weights with what the points see.

    Y[oc, p] = sum over k of W[oc, k] * S[p, k]        k: (ic, kh, kw)

A panel of them would be mostly empty, all the more where only a run tells how many points there are. Here vectors go
along k, in which weights are contiguous. What each point sees is copied side by side, once for all channels; tiles of
a few channels by up to eight points share their loads (`dot_tile`). An unknown number of points is rounded up to that
of a tile, which computes the last one again and does not store it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.conv_costs import by_dots, by_panels, count
from baton._src.lower.kernel_schedules.products.last_columns import cost_of_dots
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.row_dots import SIDE, FewColumns, adds_up, tiles_of_dots
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.loops import (
    SERIAL,
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    product,
    sequence,
    split_index,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

MOST = 2 * SIDE
"""Most points: each tile of them reads all weights."""
LONG = 8
"""Taps side by side that are copied by vectors."""
WIDTHS = (1, 2, 4, SIDE)
"""Points of a tile, if only a run tells how many there are."""


def cost(matrix: Product, points: int, target: Target) -> float:
    """What so many points take."""
    shape, terms = tile_shape(target, matrix.stage.buffer.dtype), count((matrix.k,))
    return by_dots(count(matrix.batch), terms, count((matrix.rows,)), points, cost_of_dots(terms, shape))


def most_points(matrix: Product, target: Target) -> int:
    """Up to how many points, which only a run tells or exactly as many as there are, take less time than a panel."""
    if matrix.transposed is None or matrix.k.size is None or not adds_up(matrix, target):
        return 0
    shape, known = tile_shape(target, matrix.stage.buffer.dtype), matrix.columns.size

    def cheaper(points: int) -> bool:
        wide = points if known else shape.width
        sizes = count(matrix.batch), count((matrix.k,)), count((matrix.rows,)), wide, wide
        return cost(matrix, points, target) < by_panels(*sizes, stepping=False, shape=shape)

    if known is not None:
        return known if 0 < known <= MOST and cheaper(known) else 0
    return sum(1 for _ in takewhile(cheaper, range(1, MOST + 1)))


def few_points(matrix: Product, most: int, target: Target) -> st.Stmt:
    """The convolution, image by image, of `most` points, or at most so many if their number is unknown."""
    assert matrix.transposed is not None
    known, end = matrix.columns.size, as_int64(matrix.columns.extent)
    seen = local_buffer("seen", (most, as_int64(matrix.k.extent)), matrix.stage.buffer.dtype)
    point = ops.min(as_int64(matrix.columns.var), ops.subtract(end, i64(1)))
    right = tir.BufferLoad(seen, (point, as_int64(matrix.k.var)))
    image = replace(matrix, batch=())

    def tiles(points: int, start: PrimExpr) -> st.Stmt:
        return tiles_of_dots(image, right, target, FewColumns(points, start, None if known else end))

    every = _known(known, tiles) if known else _unknown(end, tiles)
    own = {a.var: tir.Var(a.var.name, a.var.dtype) for a in matrix.batch}  # panels may be in the same kernel
    body = substitute_and_fold(allocated(seen, sequence(matrix.transposed(seen), every)), own)
    return nest([Axis(own[a.var], a.extent) for a in matrix.batch], body)


Tiles = Callable[[int, PrimExpr], st.Stmt]
"""The products of so many points from a given one on."""


def _known(points: int, tiles: Tiles) -> st.Stmt:
    """Tiles of about as many points each."""
    parts = -(-points // SIDE)
    ends = [points * (part + 1) // parts for part in range(parts)]
    return sequence(*(tiles(end - start, i64(start)) for start, end in zip([0, *ends], ends)))


def _unknown(points: PrimExpr, tiles: Tiles) -> st.Stmt:
    """The widest tiles, the last of which may be narrower."""
    part = index_var("part")
    start = ops.multiply(part, i64(SIDE))
    left = ops.subtract(points, start)
    found = tiles(SIDE, start)
    for width in reversed(WIDTHS[:-1]):
        found = st.IfThenElse(tir.LE(left, i64(width)), tiles(width, start), found)
    return loop(part, ops.floordiv(ops.add(points, i64(SIDE - 1)), i64(SIDE)), found)


def seen_points(window: Sequence[Axis], points: Sequence[Axis], data: PrimExpr, seen: Buffer) -> st.Stmt:
    """seen[p, k] = the input that output point p sees through k."""
    flat = index_var("p")
    through = {a.var: index_var(a.var.name) for a in window}
    where: dict[tir.Var, PrimExpr] = {a.var: ops.cast(a.var.dtype, through[a.var]) for a in window}
    for axis, value in zip(points, split_index(flat, [a.extent for a in points])):
        where[axis.var] = ops.cast(axis.var.dtype, value)
    k: PrimExpr = i64(0)
    for axis in window:
        k = ops.add(ops.multiply(k, as_int64(axis.extent)), through[axis.var])
    value = ops.cast(seen.dtype, substitute_and_fold(data, where))
    body: st.Stmt = st.BufferStore(seen, value, (flat, k))
    for axis in reversed(window):
        kind = VECTORIZED if axis is window[-1] and (axis.size or 0) >= LONG else SERIAL
        body = loop(through[axis.var], as_int64(axis.extent), body, kind)
    return loop(flat, product([a.extent for a in points]), body)
