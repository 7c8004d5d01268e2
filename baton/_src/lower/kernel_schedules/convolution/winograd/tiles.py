"""Tiles of Winograd's algorithm: the transforms of inputs to V, and of products to results.

Each transform is two passes of a one-dimensional one: down the columns into a small buffer, then along its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.winograd.numbers import Steps, Terms
from baton._src.lower.kernel_schedules.convolution.winograd.plan import Winograd
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
    split_index,
)
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.values.dtype import DataType

Origin = tuple[tir.Var, tir.Var, tir.Var]
"""Image, and the first row and column of a tile in its map."""
Value = Callable[[PrimExpr, int, tir.Var], PrimExpr]
"""An element of a line: the line, its place in it, and the lane."""
Condition = Callable[[PrimExpr, int], PrimExpr | None]
"""Whether an element is there; None: always."""


@dataclass(frozen=True)
class Elements:
    """V: for each of (m + 2)^2 elements a plane of channels and tiles."""

    buffer: Buffer
    plane: int


# --------------------------------------------------------------------------------------------- data to V


def load_tile(plan: Winograd, elements: Elements, number: PrimExpr, slot: tir.Var) -> st.Stmt:
    """V of one tile, all channels."""
    origin, c = _fresh_origin(), index_var("c")
    windows = (plan.conv.rows, plan.conv.columns)
    begins: list[int] = []
    inside: PrimExpr = tir.IntImm("bool", 1)
    for window, first in zip(windows, origin[1:], strict=True):
        assert window is not None
        begins.append(window.begin)
        inside = ops.logical_and(inside, _within(first, plan.transform.points, window.extent))
    plain, guarded = (_InputTile(plan, elements, origin, c, slot, guarded).emit() for guarded in (False, True))
    body = loop(c, plan.channels[0], st.IfThenElse(inside, plain, guarded))
    return _at(plan, number, origin, body, begins)


def _fresh_origin() -> Origin:
    return index_var("image"), index_var("top"), index_var("left")


def _at(plan: Winograd, number: PrimExpr, origin: Origin, body: st.Stmt, begins: Sequence[int] = (0, 0)) -> st.Stmt:
    """`body` where tile `number` begins, so far before its results."""
    at = index_var("at")
    image, *places = split_index(at, [plan.conv.anchored.stage.spatial[0].extent, *plan.across])
    starts = [image]
    for place, begin in zip(places, begins, strict=True):
        starts.append(ops.subtract(ops.multiply(place, i64(plan.transform.results)), i64(begin)))
    for first, start in zip(reversed(origin), reversed(starts), strict=True):
        body = st.LetStmt(first, start, body)
    return st.LetStmt(at, number, body)


def _within(start: PrimExpr, count: int, extent: PrimExpr) -> PrimExpr:
    return ops.logical_and(tir.GE(start, i64(0)), tir.LE(start, ops.subtract(as_int64(extent), i64(count))))


class _InputTile:
    """B^T d B of one block of channels: columns of d, then rows of that."""

    def __init__(
        self, plan: Winograd, elements: Elements, origin: Origin, c: tir.Var, slot: tir.Var, guarded: bool
    ) -> None:
        self.plan, self.elements, self.guarded = plan, elements, guarded
        self.origin, self.c, self.slot = origin, c, slot
        self.wide, self.inner = plan.transform.points, plan.channels[1]
        self.half = local_buffer("half", (self.wide * self.wide * self.inner,), elements.buffer.dtype)

    def emit(self) -> st.Stmt:
        lines = _Lines(self.plan.transform.data, self.wide, self.inner, self.half.dtype)
        down, along = lines.applied(self._data, self._keep, self._seen), lines.applied(self._again, self._write)
        return allocated(self.half, sequence(down, along))

    def _data(self, column: PrimExpr, i: int, lane: tir.Var) -> PrimExpr:
        image, top, left = self.origin
        where = (image, self.c, ops.add(top, i64(i)), ops.add(left, column), lane)
        return tir.BufferLoad(self.plan.conv.data.buffer, where)

    def _seen(self, column: PrimExpr, i: int) -> PrimExpr | None:
        if not self.guarded:
            return None
        (_, top, left), conv = self.origin, self.plan.conv
        assert conv.rows is not None
        row_seen = _within(ops.add(top, i64(i)), 1, conv.rows.extent)
        return ops.logical_and(row_seen, _within(ops.add(left, column), 1, conv.columns.extent))

    def _keep(self, column: PrimExpr, k: int, value: PrimExpr, lane: tir.Var) -> st.Stmt:
        at = ops.add(ops.multiply(ops.add(i64(k * self.wide), column), i64(self.inner)), lane)
        return st.BufferStore(self.half, value, (at,))

    def _again(self, row: PrimExpr, j: int, lane: tir.Var) -> PrimExpr:
        at = ops.multiply(ops.add(ops.multiply(row, i64(self.wide)), i64(j)), i64(self.inner))
        return tir.BufferLoad(self.half, (ops.add(at, lane),))

    def _write(self, row: PrimExpr, k: int, value: PrimExpr, lane: tir.Var) -> st.Stmt:
        element = ops.multiply(ops.add(ops.multiply(row, i64(self.wide)), i64(k)), i64(self.elements.plane))
        line = ops.multiply(ops.add(ops.multiply(self.c, i64(self.plan.sizes.tiles)), self.slot), i64(self.inner))
        return st.BufferStore(self.elements.buffer, value, (ops.add(ops.add(element, line), lane),))


# --------------------------------------------------------------------------------------------- products to results


def store_tile(plan: Winograd, products: Buffer, chunk: tir.Var, first: PrimExpr, slot: tir.Var) -> st.Stmt:
    """A^T M A of one tile, every block of the chunk, stored through the epilogue.

    Tiles that cross the end of a map are computed by other code: a condition around each vector of results would keep
    their epilogues, whose exponentials take long one after the other, apart.
    """
    origin, block = _fresh_origin(), index_var("j")

    def results(guarded: bool) -> st.Stmt:
        tile = _ResultTile(plan, products, chunk, block, slot, origin, guarded).emit()
        return loop(block, plan.sizes.blocks, tile)

    inside = _ends_inside(plan, origin)
    body = results(False) if inside is None else st.IfThenElse(inside, results(False), results(True))
    return _at(plan, ops.add(first, slot), origin, body)


def _ends_inside(plan: Winograd, origin: Origin) -> PrimExpr | None:
    """Whether a tile of results ends within its map; None: every one does."""
    inside: PrimExpr | None = None
    for axis, first in zip(plan.map, origin[1:], strict=True):
        if axis.size is None or axis.size % plan.transform.results:
            ends = tir.LE(first, ops.subtract(as_int64(axis.extent), i64(plan.transform.results)))
            inside = ends if inside is None else ops.logical_and(inside, ends)
    return inside


class _ResultTile:
    """A^T M A of one block of channels: columns of M, then rows of that."""

    def __init__(
        self,
        plan: Winograd,
        products: Buffer,
        chunk: tir.Var,
        block: tir.Var,
        slot: tir.Var,
        origin: Origin,
        guarded: bool,
    ) -> None:
        self.plan, self.products, self.origin, self.guarded = plan, products, origin, guarded
        self.chunk, self.block = chunk, block
        self.wide, self.width = plan.transform.points, plan.conv.width
        self.half = local_buffer("half", (plan.transform.results * self.wide * self.width,), products.dtype)
        line = ops.add(ops.multiply(block, i64(plan.sizes.tiles)), slot)
        self.base = ops.multiply(line, i64(plan.transform.products * self.width))

    def emit(self) -> st.Stmt:
        sums, results, dtype = self.plan.transform.sums, self.plan.transform.results, self.products.dtype
        down = _Lines(sums, self.wide, self.width, dtype).applied(self._product, self._keep)
        along = _Lines(sums, results, self.width, dtype).applied(self._again, self._write, kept=self._kept)
        return allocated(self.half, sequence(down, along))

    def _product(self, column: PrimExpr, i: int, lane: tir.Var) -> PrimExpr:
        element = ops.multiply(ops.add(column, i64(i * self.wide)), i64(self.width))
        return tir.BufferLoad(self.products, (ops.add(ops.add(self.base, element), lane),))

    def _keep(self, column: PrimExpr, k: int, value: PrimExpr, lane: tir.Var) -> st.Stmt:
        at = ops.multiply(ops.add(column, i64(k * self.wide)), i64(self.width))
        return st.BufferStore(self.half, value, (ops.add(at, lane),))

    def _again(self, row: PrimExpr, j: int, lane: tir.Var) -> PrimExpr:
        at = ops.multiply(ops.add(ops.multiply(row, i64(self.wide)), i64(j)), i64(self.width))
        return tir.BufferLoad(self.half, (ops.add(at, lane),))

    def _write(self, row: PrimExpr, k: int, value: PrimExpr, lane: tir.Var) -> st.Stmt:
        conv, (image, top, left), (rows, columns) = self.plan.conv, self.origin, self.plan.map
        where: dict[tir.Var, PrimExpr] = {
            conv.anchored.stage.spatial[0].var: image,
            conv.blocks.var: ops.add(ops.multiply(self.chunk, i64(self.plan.sizes.blocks)), self.block),
            rows.var: ops.add(top, row),
            columns.var: ops.add(left, i64(k)),
            conv.lane.var: lane,
        }
        return conv.anchored.store(value, where)

    def _kept(self, row: PrimExpr, k: int) -> PrimExpr | None:
        """Results beyond the end of a map are left out."""
        if not self.guarded:
            return None
        (_, top, left), (rows, columns) = self.origin, self.plan.map
        limits: PrimExpr | None = None
        for axis, at in ((rows, ops.add(top, row)), (columns, ops.add(left, i64(k)))):
            if axis.size is None or axis.size % self.plan.transform.results:
                limit = tir.LT(at, as_int64(axis.extent))
                limits = limit if limits is None else ops.logical_and(limits, limit)
        return limits


# --------------------------------------------------------------------------------------------- one dimension


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
