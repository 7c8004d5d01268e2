"""Convolutions of 3 x 3 taps over blocked channels (NCHW16c) by Winograd's algorithm, weights transformed ahead.

    for blocks of tiles:                                      a tile: m x m results, (m + 2) x (m + 2) inputs
        V[e, c, t]  =  (B^T d B)[e]                           e: one of (m + 2)^2 elements; c: channel; t: tile
        for chunks of output channels:
            M[o, t, e]  =  sum over c of V[e, c, t] * U[e, c, o]         register tiles: tiles x channels
            Y tiles  =  A^T M A, through the epilogue

V and M of a block stay in the second-level cache. U is read in the order it lies. Padding is a matter of loading the
tiles at the border; tiles that reach over the end are cut when stored. Threads share blocks of tiles, or where there
are too few of them tiles first and chunks of channels then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.blocked_conv_parts import BlockedConv
from baton._src.lower.kernel_schedules.convolution.winograd_numbers import TAPS, Steps, Terms, Transform
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.loops import (
    PARALLEL,
    SERIAL,
    UNROLLED,
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    product,
    sequence,
    split_index,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

PAD = 16
"""Elements between the planes of V, so that they start on different lines of the first-level cache."""


@dataclass(frozen=True)
class Sizes:
    """How the work is cut: tiles of a block, tiles and blocks of channels of a register tile, register tiles of a
    chunk of channels; whether threads share blocks of tiles, or channels, or nothing.
    """

    tiles: int
    rows: int
    beside: int
    panels: int
    shared: str = ""
    """"tiles", "channels" or nothing"""

    @property
    def blocks(self) -> int:
        """Blocks of output channels of a chunk."""
        return self.beside * self.panels


@dataclass(frozen=True, eq=False)
class Winograd:
    """A convolution and how it is computed."""

    conv: BlockedConv
    transform: Transform
    sizes: Sizes

    @property
    def map(self) -> tuple[Axis, Axis]:
        """Rows and columns of the result."""
        assert self.conv.rows is not None
        return self.conv.rows.axis, self.conv.columns.axis

    @property
    def channels(self) -> tuple[int, int]:
        """Blocks of input channels, and channels of one."""
        outer, inner = (a.size or 0 for a in self.conv.channels)
        return outer, inner

    @property
    def across(self) -> tuple[PrimExpr, PrimExpr]:
        """Tiles down and across one map."""
        down, wide = (rounded_up(as_int64(a.extent), self.transform.results) for a in self.map)
        return down, wide

    @property
    def total(self) -> PrimExpr:
        """Tiles of all maps."""
        return product([self.conv.anchored.stage.spatial[0].extent, *self.across])

    def groups(self, first: PrimExpr) -> PrimExpr:
        """Register tiles down a block whose first tile is given: no more than there are tiles for."""
        whole = i64(-(-self.sizes.tiles // self.sizes.rows))
        if isinstance(self.total, tir.IntImm):
            return whole
        return ops.min(whole, rounded_up(ops.subtract(self.total, first), self.sizes.rows))

    @property
    def chunks(self) -> int:
        return (self.conv.blocks.size or 0) // self.sizes.blocks

    def weight_shape(self) -> tuple[int, ...]:
        """U as (chunk, element, panel, channel, block beside another, lane)."""
        s, inputs = self.sizes, self.channels[0] * self.channels[1]
        return (self.chunks, self.transform.products, s.panels, inputs, s.beside, self.conv.width)

    def write_weights(self, into: AnyArray, packed: AnyArray) -> None:
        """Write U, of `weight_shape()`, from a weight that lies (O, I, 3, 3, i, o).

        The taps, a quarter of U, are put in its order first; U itself is then written once, as products of matrices.
        """
        s, (outer, inner) = self.sizes, self.channels
        taps = packed.reshape(self.chunks, s.panels, s.beside, outer, TAPS * TAPS, inner, self.conv.width)
        taps = taps.transpose(0, 4, 1, 3, 5, 2, 6).reshape(self.chunks, TAPS * TAPS, -1)
        np.matmul(self.transform.both(packed.dtype), taps, out=into.reshape(self.chunks, self.transform.products, -1))


def rounded_up(count: PrimExpr, each: int) -> PrimExpr:
    """How many groups so many make, the last of which may be smaller."""
    return ops.floordiv(ops.add(count, i64(each - 1)), i64(each))


def emit(plan: Winograd, weight: Buffer) -> st.Stmt:
    """The loops, reading the transformed weights `weight`."""
    sizes, dtype = plan.sizes, plan.conv.anchored.stage.buffer.dtype
    outer, inner = plan.channels
    plane = outer * inner * sizes.tiles + PAD
    values = local_buffer("values", (plan.transform.products * plane,), dtype)
    block, tile, chunk = index_var("block"), index_var("tile"), index_var("chunk")
    blocks = rounded_up(plan.total, sizes.tiles)
    first = ops.multiply(block, i64(sizes.tiles))
    inside = PARALLEL if sizes.shared == "channels" else SERIAL
    number = ops.min(ops.add(first, tile), ops.subtract(plan.total, i64(1)))
    slots = ops.min(i64(sizes.tiles), ops.multiply(plan.groups(first), i64(sizes.rows)))
    transformed = loop(tile, slots, _load_tile(plan, values, plane, number, tile), inside)
    chunks = loop(chunk, plan.chunks, _chunk(plan, values, plane, weight, chunk, first), inside)
    body = sequence(transformed, chunks)
    if sizes.shared == "tiles":
        return loop(block, blocks, allocated(values, body), PARALLEL, grain=1)
    return allocated(values, loop(block, blocks, body))


# --------------------------------------------------------------------------------------------- data to V


def _load_tile(plan: Winograd, values: Buffer, plane: int, number: PrimExpr, slot: tir.Var) -> st.Stmt:
    """V of one tile, all channels."""
    conv, wide = plan.conv, plan.transform.points
    windows = (conv.rows, conv.columns)
    at = index_var("at")
    image, *place = split_index(at, [conv.anchored.stage.spatial[0].extent, *plan.across])
    origins = [index_var("image"), index_var("top"), index_var("left")]
    starts = [image]
    inside: PrimExpr = tir.IntImm("bool", 1)
    for window, origin, step in zip(windows, origins[1:], place):
        assert window is not None
        starts.append(ops.subtract(ops.multiply(step, i64(plan.transform.results)), i64(window.begin)))
        inside = ops.logical_and(inside, _within(origin, wide, window.extent))
    c = index_var("c")

    def tile(guarded: bool) -> st.Stmt:
        return _transformed_tile(plan, values, plane, (origins[0], c, *origins[1:]), slot, guarded)

    body = loop(c, plan.channels[0], st.IfThenElse(inside, tile(False), tile(True)))
    for origin, start in zip(reversed(origins), reversed(starts)):
        body = st.LetStmt(origin, start, body)
    return st.LetStmt(at, number, body)


def _within(start: PrimExpr, count: int, extent: PrimExpr) -> PrimExpr:
    return ops.logical_and(tir.GE(start, i64(0)), tir.LE(start, ops.subtract(as_int64(extent), i64(count))))


def _transformed_tile(
    plan: Winograd, values: Buffer, plane: int, origin: tuple[PrimExpr, ...], slot: tir.Var, guarded: bool
) -> st.Stmt:
    """B^T d B of one block of channels: columns of d, then rows of that."""
    conv, steps, wide = plan.conv, plan.transform.data, plan.transform.points
    image, c, top, left = origin
    inner = plan.channels[1]
    half = local_buffer("half", (wide * wide * inner,), values.dtype)
    assert conv.rows is not None
    height, width = conv.rows.extent, conv.columns.extent

    def data(column: PrimExpr, i: int, lane: tir.Var) -> PrimExpr:
        return tir.BufferLoad(conv.data.buffer, (image, c, ops.add(top, i64(i)), ops.add(left, column), lane))

    def seen(column: PrimExpr, i: int) -> PrimExpr | None:
        if not guarded:
            return None
        return ops.logical_and(_within(ops.add(top, i64(i)), 1, height), _within(ops.add(left, column), 1, width))

    def keep(column: PrimExpr, k: int, value: PrimExpr, lane: tir.Var) -> st.Stmt:
        at = ops.add(ops.multiply(ops.add(i64(k * wide), column), i64(inner)), lane)
        return st.BufferStore(half, value, (at,))

    def again(row: PrimExpr, j: int, lane: tir.Var) -> PrimExpr:
        at = ops.multiply(ops.add(ops.multiply(row, i64(wide)), i64(j)), i64(inner))
        return tir.BufferLoad(half, (ops.add(at, lane),))

    def write(row: PrimExpr, k: int, value: PrimExpr, lane: tir.Var) -> st.Stmt:
        element = ops.multiply(ops.add(ops.multiply(row, i64(wide)), i64(k)), i64(plane))
        line = ops.multiply(ops.add(ops.multiply(c, i64(plan.sizes.tiles)), slot), i64(inner))
        return st.BufferStore(values, value, (ops.add(ops.add(element, line), lane),))

    lines = _Lines(steps, wide, inner, values.dtype)
    return allocated(half, sequence(lines.applied(data, keep, seen), lines.applied(again, write)))


Value = Callable[[PrimExpr, int, tir.Var], PrimExpr]
Condition = Callable[[PrimExpr, int], PrimExpr | None]


def _always(line: PrimExpr, place: int) -> None:
    return None


@dataclass(frozen=True)
class _Lines:
    """`count` lines of vectors that `steps` are applied to, one after the other."""

    steps: Steps
    count: int
    lanes: int
    dtype: DataType

    def applied(
        self,
        source: Value,
        store: Callable[[PrimExpr, int, PrimExpr, tir.Var], st.Stmt],
        seen: Condition = _always,
        kept: Condition = _always,
    ) -> st.Stmt:
        """From source(line, i), zero where not `seen`, to store(line, k, value), left out where not `kept`."""
        line = index_var("line")
        steps = self.steps
        slots = Accumulators.of(steps.inputs + len(steps.steps), self.lanes, self.dtype)
        parts = [self._loaded(slots, line, i, source, seen) for i in range(steps.inputs)]
        for n, terms in enumerate(steps.steps):
            parts.append(self._put(slots, steps.inputs + n, _sum(slots, terms)))
        for k, slot in enumerate(steps.outputs):
            lane = index_var("v")
            done = loop(lane, self.lanes, store(line, k, slots.load(slot, lane), lane), VECTORIZED)
            wanted = kept(line, k)
            parts.append(done if wanted is None else st.IfThenElse(wanted, done))
        return loop(line, self.count, allocated(slots.buffer, sequence(*parts)))

    def _loaded(self, slots: Accumulators, line: tir.Var, i: int, source: Value, seen: Condition) -> st.Stmt:
        load = self._put(slots, i, lambda lane: source(line, i, lane))
        inside = seen(line, i)
        if inside is None:
            return load
        return st.IfThenElse(inside, load, self._put(slots, i, lambda lane: ops.const(0, self.dtype)))

    def _put(self, slots: Accumulators, number: int, value: Callable[[tir.Var], PrimExpr]) -> st.Stmt:
        lane = index_var("v")
        store = st.BufferStore(slots.buffer, value(lane), (slots.at(number, lane),))
        return loop(lane, self.lanes, store, VECTORIZED)


def _sum(slots: Accumulators, terms: Terms) -> Callable[[tir.Var], PrimExpr]:
    def value(lane: tir.Var) -> PrimExpr:
        total: PrimExpr | None = None
        for factor, slot in terms:
            total = _added(total, factor, slots.load(slot, lane))
        assert total is not None
        return total

    return value


def _added(total: PrimExpr | None, factor: float, value: PrimExpr) -> PrimExpr:
    if total is None:
        return value if factor == 1 else tir.Mul(ops.const(factor, value.dtype), value)
    if factor == 1:
        return tir.Add(total, value)
    return tir.Sub(total, value) if factor == -1 else tir.Add(total, tir.Mul(ops.const(factor, value.dtype), value))


# ------------------------------------------------------------------------------------- products and results


def _chunk(plan: Winograd, values: Buffer, plane: int, weight: Buffer, chunk: tir.Var, first: PrimExpr) -> st.Stmt:
    """All products of a block of tiles and a chunk of channels, and their results."""
    sizes, width = plan.sizes, plan.conv.width
    products = local_buffer("products", (sizes.blocks * sizes.tiles * plan.transform.products * width,), values.dtype)
    element, panel, group = index_var("element"), index_var("panel"), index_var("group")
    start = ops.min(ops.multiply(group, i64(sizes.rows)), i64(sizes.tiles - sizes.rows))
    tile = _product(plan, values, plane, weight, products, (chunk, element, panel), start)
    every = loop(element, plan.transform.products, loop(panel, sizes.panels, loop(group, plan.groups(first), tile)))
    slot = index_var("slot")
    count = ops.min(i64(sizes.tiles), ops.subtract(plan.total, first))
    results = loop(slot, count, _store_tile(plan, products, chunk, first, slot))
    return allocated(products, sequence(every, results))


def _product(
    plan: Winograd,
    values: Buffer,
    plane: int,
    weight: Buffer,
    products: Buffer,
    where: tuple[tir.Var, tir.Var, tir.Var],
    start: PrimExpr,
) -> st.Stmt:
    """One register tile: tiles from `start` on by blocks of channels side by side."""
    sizes, width = plan.sizes, plan.conv.width
    outer, inner = plan.channels
    chunk, element, panel = where
    acc = Accumulators.of(sizes.rows * sizes.beside, width, values.dtype)
    zero = ops.const(0, values.dtype)
    flat = Buffer(weight.data, weight.dtype, (product(weight.shape),), name=weight.name)
    rows, c, k = index_var("rows"), index_var("c"), index_var("k")
    step = sizes.beside * width
    number = ops.add(ops.multiply(chunk, i64(plan.transform.products)), element)
    number = ops.add(ops.multiply(number, i64(sizes.panels)), panel)
    base, own = index_var("base"), index_var("own")
    place = ops.multiply(ops.add(ops.multiply(number, i64(outer)), c), i64(inner * step))
    line = ops.add(ops.multiply(ops.multiply(c, i64(sizes.tiles)), i64(inner)), rows)

    def each(body: Callable[[PrimExpr, PrimExpr, tir.Var], st.Stmt]) -> st.Stmt:
        r, j, lane = index_var("r"), index_var("j"), index_var("v")
        return loop(
            r, sizes.rows, loop(j, sizes.beside, loop(lane, width, body(r, j, lane), VECTORIZED), UNROLLED), UNROLLED
        )

    def sum_at(r: PrimExpr, j: PrimExpr) -> PrimExpr:
        return ops.add(ops.multiply(r, i64(sizes.beside)), j)

    def update(r: PrimExpr, j: PrimExpr, lane: tir.Var) -> st.Stmt:
        left = tir.BufferLoad(values, (ops.add(ops.add(own, k), ops.multiply(r, i64(inner))),))
        at = ops.add(base, ops.add(ops.multiply(k, i64(step)), ops.add(ops.multiply(j, i64(width)), lane)))
        term = tir.Mul(left, tir.BufferLoad(flat, (at,)))
        n = sum_at(r, j)
        return st.BufferStore(acc.buffer, tir.Add(acc.load(n, lane), term), (acc.at(n, lane),))

    def write(r: PrimExpr, j: PrimExpr, lane: tir.Var) -> st.Stmt:
        block = ops.add(ops.multiply(panel, i64(sizes.beside)), j)
        line_ = ops.add(ops.multiply(block, i64(sizes.tiles)), ops.add(start, r))
        at = ops.multiply(ops.add(ops.multiply(line_, i64(plan.transform.products)), element), i64(width))
        return st.BufferStore(products, acc.load(sum_at(r, j), lane), (ops.add(at, lane),))

    inner_loop = st.LetStmt(base, place, st.LetStmt(own, line, loop(k, inner, each(update))))
    body = sequence(acc.each(lambda row, lane: zero), loop(c, outer, inner_loop), each(write))
    at_rows = ops.add(ops.multiply(element, i64(plane)), ops.multiply(start, i64(inner)))
    return st.LetStmt(rows, at_rows, allocated(acc.buffer, body))


def _store_tile(plan: Winograd, products: Buffer, chunk: tir.Var, first: PrimExpr, slot: tir.Var) -> st.Stmt:
    """A^T M A of one tile, every block of the chunk, stored through the epilogue."""
    conv, transform, sizes = plan.conv, plan.transform, plan.sizes
    stage = conv.anchored.stage
    at = index_var("at")
    places = split_index(at, [stage.spatial[0].extent, *plan.across])
    origins = [index_var("image"), index_var("top"), index_var("left")]
    starts = [places[0], *(ops.multiply(p, i64(transform.results)) for p in places[1:])]
    block = index_var("j")
    body = loop(block, sizes.blocks, _results(plan, products, chunk, block, slot, (origins[0], origins[1], origins[2])))
    for origin, value in zip(reversed(origins), reversed(starts)):
        body = st.LetStmt(origin, value, body)
    return st.LetStmt(at, ops.add(first, slot), body)


def _results(
    plan: Winograd,
    products: Buffer,
    chunk: tir.Var,
    block: tir.Var,
    slot: tir.Var,
    origin: tuple[tir.Var, tir.Var, tir.Var],
) -> st.Stmt:
    conv, transform, sizes = plan.conv, plan.transform, plan.sizes
    wide, width = transform.points, conv.width
    half = local_buffer("half", (transform.results * wide * width,), products.dtype)
    rows, columns = plan.map
    image, top, left = origin
    line = ops.add(ops.multiply(block, i64(sizes.tiles)), slot)
    base = ops.multiply(line, i64(transform.products * width))

    def source(column: PrimExpr, i: int, lane: tir.Var) -> PrimExpr:
        element = ops.multiply(ops.add(column, i64(i * wide)), i64(width))
        return tir.BufferLoad(products, (ops.add(ops.add(base, element), lane),))

    def keep(column: PrimExpr, k: int, value: PrimExpr, lane: tir.Var) -> st.Stmt:
        at = ops.multiply(ops.add(column, i64(k * wide)), i64(width))
        return st.BufferStore(half, value, (ops.add(at, lane),))

    def again(row: PrimExpr, j: int, lane: tir.Var) -> PrimExpr:
        at = ops.multiply(ops.add(ops.multiply(row, i64(wide)), i64(j)), i64(width))
        return tir.BufferLoad(half, (ops.add(at, lane),))

    def write(row: PrimExpr, k: int, value: PrimExpr, lane: tir.Var) -> st.Stmt:
        where: dict[tir.Var, PrimExpr] = {
            conv.anchored.stage.spatial[0].var: image,
            conv.blocks.var: ops.add(ops.multiply(chunk, i64(sizes.blocks)), block),
            rows.var: ops.add(top, row),
            columns.var: ops.add(left, i64(k)),
            conv.lane.var: lane,
        }
        return conv.anchored.store(value, where)

    def kept(row: PrimExpr, k: int) -> PrimExpr | None:
        limits: PrimExpr | None = None
        for axis, at in ((rows, ops.add(top, row)), (columns, ops.add(left, i64(k)))):
            if axis.size is None or axis.size % transform.results:
                limit = tir.LT(at, as_int64(axis.extent))
                limits = limit if limits is None else ops.logical_and(limits, limit)
        return limits

    down = _Lines(transform.sums, wide, width, products.dtype).applied(source, keep)
    along = _Lines(transform.sums, transform.results, width, products.dtype).applied(again, write, kept=kept)
    return allocated(half, sequence(down, along))


def transformed_weight(plan: Winograd, like: Buffer) -> Buffer:
    """The parameter that takes the place of the weight."""
    return decl_buffer([i64(s) for s in plan.weight_shape()], like.dtype, like.name)
