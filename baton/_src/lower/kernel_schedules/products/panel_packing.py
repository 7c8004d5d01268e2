"""Pack a panel of columns of the right factor just before it is used."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.shared.affine import depends, step
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import VECTORIZED, ceil_div, i64, index_var, loop, sequence
from baton._src.lower.kernel_schedules.shared.prefetch import prefetched
from baton._src.lower.kernel_schedules.shared.register_shuffles import square
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import intrinsic
from baton._src.values.aligned import LINE

FAR = 48
"""Prefetch distance in steps along k: after these a row of B has arrived from the third-level cache."""

SMALLEST_SQUARE = 4
"""Least number of terms for register transposes; shorter sums move elements one by one."""

LOW = 4
"""Tiles of at most this many rows prefetch nothing: they load as much as they multiply, and there are few of them."""

Beside = Callable[[PrimExpr], st.Stmt]
"""Emit what a step along k does alongside its multiply-adds."""
Ahead = Callable[[int, PrimExpr, PrimExpr, PrimExpr], Beside | None]
"""Return what the steps of a tile do alongside, given its rows, the first of them, its index and the number of
tiles.
"""


@dataclass(frozen=True)
class Factor:
    """The right factor of a product, and its axes."""

    value: PrimExpr
    k: Axis
    columns: Axis

    def fills(self, width: int) -> bool:
        """Whether panels of that many columns are all full."""
        return self.columns.size is not None and self.columns.size % width == 0


def pack_panel(factor: Factor, buffer: Buffer, start: PrimExpr, width: int, lanes: int) -> st.Stmt:
    """packed[k, v] = B[k, start + v], zero beyond the last column; loops follow the axis along which B is
    contiguous.
    """
    side = _square_side(factor, buffer, lanes)
    if side:
        return _pack_squares(factor, buffer, start, width, side)
    step_k, v = index_var("k"), index_var("v")
    store = _element(factor, buffer, start, width, step_k, v, not factor.fills(width))
    count = as_int64(factor.k.extent)
    if step(load_of(factor.value), factor.k) == 1:
        return loop(v, width, loop(step_k, count, store, VECTORIZED))
    return loop(step_k, count, loop(v, width, store, VECTORIZED))


def _element(
    factor: Factor, buffer: Buffer, start: PrimExpr, width: int, k: PrimExpr, v: PrimExpr, guarded: bool
) -> st.Stmt:
    """packed[k, v] = B[k, start + v]; zero beyond the last column if `guarded`."""
    column = ops.add(start, v)
    value = bound(factor.value, {factor.k: k, factor.columns: column})
    if guarded:
        value = where(tir.LT(column, as_int64(factor.columns.extent)), value, ops.const(0, buffer.dtype))
    return st.BufferStore(buffer, value, (ops.add(ops.multiply(k, i64(width)), v),))


def _square_side(factor: Factor, buffer: Buffer, lanes: int) -> int:
    """The side of the register squares that transpose a B of layout (n, k) into a panel; 0 if its layout is another."""
    value, k = factor.value, factor.k
    inner = value.value if isinstance(value, tir.Cast) else value  # converted when loaded
    if not isinstance(inner, tir.BufferLoad) or value.dtype != buffer.dtype or buffer.dtype.bits not in (32, 64):
        return 0
    plain = inner.indices[-1] is k.var and not any(depends(i, k.var) for i in inner.indices[:-1])
    if not plain or inner.buffer.strides or k.size is None:
        return 0
    side = min(lanes, 1 << (k.size.bit_length() - 1))
    return side if side >= SMALLEST_SQUARE else 0


def _pack_squares(factor: Factor, buffer: Buffer, start: PrimExpr, width: int, side: int) -> st.Stmt:
    """packed[k, v] = B[start + v, k]; beyond the last column the last one is repeated; the last square overlaps the one
    before it.
    """
    load, whole, depth = load_of(factor.value), factor.fills(width), factor.k.size
    assert depth is not None
    last = ops.subtract(as_int64(factor.columns.extent), i64(1))
    part, block = index_var("part"), index_var("k")
    top, left = ops.multiply(part, i64(side)), ops.min(ops.multiply(block, i64(side)), i64(depth - side))
    run = tir.Ramp(left, i64(1), side)

    def source(number: int) -> PrimExpr:
        column = ops.add(ops.add(start, top), i64(number))
        at = bound(load, {factor.columns: column if whole else ops.min(column, last)})
        assert isinstance(at, tir.BufferLoad)
        return ops.cast(buffer.dtype.with_lanes(side), tir.BufferLoad(at.buffer, (*at.indices[:-1], run)))

    def store(number: int, vector: tir.Var) -> st.Stmt:
        slot = ops.add(ops.multiply(ops.add(left, i64(number)), i64(width)), top)
        return st.BufferStore(buffer, vector, (tir.Ramp(slot, i64(1), side),))

    return loop(part, width // side, loop(block, -(-depth // side), square(source, store, side)))


def packs_beside(factor: Factor) -> bool:
    """Whether the first tile can pack its panel while it multiplies: B is contiguous along the columns."""
    return step(load_of(factor.value), factor.columns) == 1


def packing_beside(factor: Factor, buffer: Buffer, start: PrimExpr, width: int) -> Ahead:
    """Let the first tile pack the panel that it multiplies by: each of its steps along k stores one row and prefetches
    a later one. Packing separately would wait for every row, since hardware prefetchers do not follow long strides;
    interleaved with multiply-adds it costs next to nothing.
    """
    load = load_of(factor.value)
    last = [ops.subtract(as_int64(axis.extent), i64(1)) for axis in (factor.columns, factor.k)]
    line = max(1, LINE // load.dtype.itemsize)
    end = () if factor.columns.size is not None and factor.columns.size % line == 0 else (width - 1,)  # one line more

    def of_tile(rows: int, first: PrimExpr, tile: PrimExpr, tiles: PrimExpr) -> Beside:
        def at(k: PrimExpr) -> st.Stmt:
            later = ops.min(ops.add(k, i64(FAR)), last[1])
            columns = [ops.min(ops.add(start, i64(n)), last[0]) for n in (*range(0, width, line), *end)]
            asked = [prefetched(load_of(bound(load, {factor.k: later, factor.columns: c}))) for c in columns]
            return st.IfThenElse(tir.EQ(tile, i64(0)), sequence(_row(factor, buffer, start, width, k), *asked))

        return at

    return of_tile


def _row(factor: Factor, buffer: Buffer, start: PrimExpr, width: int, k: PrimExpr) -> st.Stmt:
    """Pack one row of the panel."""

    def row(guarded: bool) -> st.Stmt:
        v = index_var("v")
        return loop(v, width, _element(factor, buffer, start, width, k, v, guarded), VECTORIZED)

    if factor.fills(width):
        return row(False)
    inside = tir.LE(ops.add(start, i64(width)), as_int64(factor.columns.extent))
    return st.IfThenElse(inside, row(False), row(True))


def converting_beside(source: Buffer, packed: Buffer, width: int) -> Ahead:
    """Let the first tile convert the packed panel that it multiplies by, a row at each of its steps along k."""

    def of_tile(rows: int, first: PrimExpr, tile: PrimExpr, tiles: PrimExpr) -> Beside:
        def at(k: PrimExpr) -> st.Stmt:
            v = index_var("v")
            place = ops.add(ops.multiply(k, i64(width)), v)
            store = st.BufferStore(packed, ops.cast(packed.dtype, tir.BufferLoad(source, (place,))), (place,))
            return st.IfThenElse(tir.EQ(tile, i64(0)), loop(v, width, store, VECTORIZED))

        return at

    return of_tile


def fetching(factor: Factor, start: PrimExpr, width: int, lanes: int) -> Ahead:
    """Let each step along k, in all tiles of one panel, prefetch a vector of a B that is contiguous along k, so that
    its panel from `start` on is in cache by the time it is packed.
    """
    load, vectors = load_of(factor.value), max(1, width // lanes)
    last = [ops.subtract(as_int64(axis.extent), i64(1)) for axis in (factor.columns, factor.k)]

    def of_tile(rows: int, first: PrimExpr, tile: PrimExpr, tiles: PrimExpr) -> Beside | None:
        if rows <= LOW:
            return None
        # Only the last tiles prefetch new lines; the tiles before them repeat one address, which costs next to nothing.
        before = ops.max(ops.subtract(tiles, i64(vectors)), i64(0))
        part = ops.max(ops.subtract(tile, before), i64(0))
        asks = ops.cast("int64", tir.GE(tile, before))

        def at(step_of_k: PrimExpr) -> st.Stmt:
            k = ops.multiply(step_of_k, asks)
            if step(load, factor.k) == 1:
                column = ops.add(start, ops.floormod(k, i64(width)))
                block = ops.add(ops.multiply(ops.floordiv(k, i64(width)), i64(vectors)), part)
                deep = ops.min(ops.multiply(block, i64(lanes)), last[1])
            else:
                column, deep = ops.add(start, ops.multiply(part, i64(lanes))), k
            place = bound(load, {factor.k: deep, factor.columns: ops.min(column, last[0])})
            return prefetched(load_of(place), near=False)

        return at

    return of_tile


def panel_prefetches(panel: Buffer, steps: int, width: int) -> Ahead:
    """Let each tile prefetch its share of the packed panel that this thread is likely to take next, `width` elements at
    each of `steps` along k, so that weights arrive from memory evenly instead of all at once when a panel begins.
    """

    def of_tile(rows: int, first: PrimExpr, tile: PrimExpr, tiles: PrimExpr) -> Beside | None:
        if rows <= LOW:
            return None
        share = ceil_div(i64(width), ops.max(tiles, i64(1)))
        most = ops.subtract(i64(steps * width), ops.multiply(share, i64(steps)))
        begin = ops.min(ops.multiply(ops.multiply(tile, share), i64(steps)), most)

        def at(k: PrimExpr) -> st.Stmt:
            return prefetched(tir.BufferLoad(panel, (ops.add(begin, ops.multiply(k, share)),)))

        return at

    return of_tile


def where(condition: PrimExpr, value: PrimExpr, other: PrimExpr) -> PrimExpr:
    return tir.Call(value.dtype, intrinsic("if_then_else"), (condition, value, other))
