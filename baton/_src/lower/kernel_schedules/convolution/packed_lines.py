"""The panel of a convolution's input that register tiles read, packed line by line.

A panel has a column for each of `width` neighbouring output points, which are on a few lines of the map. The points of
one line read one run of the input through a tap: with stride 1 a copy of vectors, otherwise a gather. Where a tap sees
only part of its run, at the border, packing writes zeros around that part.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.conv_window import Window
from baton._src.lower.kernel_schedules.shared.factors import is_simple, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    i64,
    index_var,
    loop,
    nest,
    product,
    sequence,
    split_index,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer


def pack_lines(
    window: tuple[Axis, ...],
    points: tuple[Axis, ...],
    data: PrimExpr,
    panel: Buffer,
    start: PrimExpr,
    width: int,
    seen: tuple[Window, ...],
) -> st.Stmt:
    """panel[k, v] = the input that output point start + v sees through k; zeros beyond the last point."""
    if data.dtype != panel.dtype and is_simple(data) and load_of(data).dtype == panel.dtype:
        data = load_of(data)  # packed as it lies, whatever the product makes of it
    length = as_int64(points[-1].extent)
    total = product([a.extent for a in points])
    end = ops.min(ops.add(start, i64(width)), total)
    first_line = ops.floordiv(start, length)
    lines = ops.add(ops.subtract(ops.floordiv(ops.subtract(end, i64(1)), length), first_line), i64(1))
    line = index_var("line")
    run = _run_on(ops.add(first_line, line), window, points, data, panel, start, end, width)
    filled = loop(line, lines, run.copy(seen))
    if isinstance(total, tir.IntImm) and total.value % width == 0:
        return filled
    return sequence(_zeros(window, panel, start, end, width), filled)


@dataclass(frozen=True, slots=True)
class _Run:
    """The neighbours on one line among a panel's points: `count` of them, the first at `offset` of the line.

    `where` says what the loops over taps and points are here; `value` is what point `u` of the run sees through a tap,
    `place` where the run begins in the panel.
    """

    window: tuple[Axis, ...]
    panel: Buffer
    width: int
    where: dict[tir.Var, PrimExpr]
    u: tir.Var
    value: PrimExpr
    place: PrimExpr
    offset: PrimExpr
    count: PrimExpr

    def copy(self, seen: tuple[Window, ...]) -> st.Stmt:
        """All taps' runs. Most are as wide as the panel: without a tail they take half as long."""
        every = self._part(i64(0), self.count, self.value)
        full = self._over_taps(self._part(i64(0), i64(self.width), self.value), self.window)
        inside = st.IfThenElse(tir.EQ(self.count, i64(self.width)), full, self._over_taps(every, self.window))
        if not seen:
            return inside
        return st.IfThenElse(_sees_all(seen, self.where, self.offset, self.count), inside, self._at_border(seen, every))

    def _at_border(self, seen: tuple[Window, ...], every: st.Stmt) -> st.Stmt:
        """The runs of taps that may lie outside, in part or on the whole."""
        low, high = index_var("low"), index_var("high")
        zeros = self._part(i64(0), self.count, ops.const(0, self.panel.dtype))
        part = sequence(zeros, self._part(low, ops.subtract(high, low), self.value))
        whole = ops.logical_and(tir.LE(low, i64(0)), tir.GE(high, self.count))
        some: st.Stmt = st.IfThenElse(whole, every, part)
        if len(seen) > 1:
            some = st.IfThenElse(_lines_inside(seen[:-1], self.where), some, zeros)
        # The tap along the line outside: what it sees is worked out once.
        limits = _limits(seen[-1], self.where, self.offset, self.count)
        along = [a for a in self.window if seen[-1].tap is not None and a.var is seen[-1].tap.var]
        some = self._over_taps(some, [a for a in self.window if a not in along])
        return self._over_taps(st.LetStmt(low, limits[0], st.LetStmt(high, limits[1], some)), along)

    def _part(self, first: PrimExpr, number: PrimExpr, source: PrimExpr) -> st.Stmt:
        """`number` points of the run, from `first` on."""
        own = index_var("u")
        moved = substitute_and_fold(source, {self.u: ops.add(first, own)})
        store = st.BufferStore(self.panel, moved, (ops.add(ops.add(self.place, first), own),))
        return loop(own, number, store, VECTORIZED)

    def _over_taps(self, body: st.Stmt, axes: Sequence[Axis]) -> st.Stmt:
        """`body` for every tap, in loops of its own."""
        own = {self.where[a.var]: tir.Var(a.var.name, a.var.dtype) for a in axes}
        loops = [Axis(own[self.where[a.var]], a.extent) for a in axes]
        return nest(loops, substitute_and_fold(body, own))


def _run_on(
    here: PrimExpr,
    window: tuple[Axis, ...],
    points: tuple[Axis, ...],
    data: PrimExpr,
    panel: Buffer,
    start: PrimExpr,
    end: PrimExpr,
    width: int,
) -> _Run:
    """The points start ... end that lie on the line `here`."""
    last = points[-1]
    length = as_int64(last.extent)
    line_start = ops.multiply(here, length)
    begin = ops.max(start, line_start)
    count = ops.subtract(ops.min(end, ops.add(line_start, length)), begin)
    offset = ops.subtract(begin, line_start)
    u = index_var("u")
    where: dict[tir.Var, PrimExpr] = {a.var: tir.Var(a.var.name, a.var.dtype) for a in window}
    k: PrimExpr = i64(0)
    for axis in window:
        k = ops.add(ops.multiply(k, as_int64(axis.extent)), as_int64(where[axis.var]))
    for axis, value in zip(points[:-1], split_index(here, [a.extent for a in points[:-1]])):
        where[axis.var] = ops.cast(axis.var.dtype, value)
    where[last.var] = ops.cast(last.var.dtype, ops.add(offset, u))
    value = ops.cast(panel.dtype, substitute_and_fold(data, where))
    place = ops.add(ops.multiply(k, i64(width)), ops.subtract(begin, start))
    return _Run(window, panel, width, where, u, value, place, offset, count)


def _lines_inside(seen: Sequence[Window], where: dict[tir.Var, PrimExpr]) -> PrimExpr:
    """Whether the line that taps read is inside, along all axes but the last."""
    inside: PrimExpr = tir.IntImm("bool", 1)
    for window in seen:
        at = ops.multiply(as_int64(where[window.axis.var]), i64(window.stride))
        at = ops.subtract(ops.add(at, _tap(window, where)), i64(window.begin))
        inside = ops.logical_and(inside, ops.logical_and(tir.GE(at, i64(0)), tir.LT(at, i64(window.size))))
    return inside


def _limits(
    window: Window, where: dict[tir.Var, PrimExpr], offset: PrimExpr, count: PrimExpr
) -> tuple[PrimExpr, PrimExpr]:
    """The part [low, high) of a run of `count` points, the first at `offset` of its line, that a tap sees."""
    before = ops.subtract(i64(window.begin), _tap(window, where))

    def points(distance: PrimExpr) -> PrimExpr:
        """How many points of the run start before a place of the input."""
        whole = ops.floordiv(ops.add(distance, i64(window.stride - 1)), i64(window.stride))
        return ops.min(ops.max(ops.subtract(whole, offset), i64(0)), count)

    low = points(before)
    return low, ops.max(points(ops.add(before, i64(window.size))), low)


def _sees_all(seen: tuple[Window, ...], where: dict[tir.Var, PrimExpr], offset: PrimExpr, count: PrimExpr) -> PrimExpr:
    """Whether every point of a run is inside for all taps."""
    *others, last = seen
    ranges = [(window, as_int64(where[window.axis.var]), as_int64(where[window.axis.var])) for window in others]
    ranges.append((last, offset, ops.subtract(ops.add(offset, count), i64(1))))
    inside: PrimExpr = tir.IntImm("bool", 1)
    for window, first, end in ranges:
        reach = (window.taps - 1) * window.dilation - window.begin
        lowest = tir.GE(ops.multiply(first, i64(window.stride)), i64(window.begin))
        highest = tir.LT(ops.add(ops.multiply(end, i64(window.stride)), i64(reach)), i64(window.size))
        inside = ops.logical_and(inside, ops.logical_and(lowest, highest))
    return inside


def _tap(window: Window, where: dict[tir.Var, PrimExpr]) -> PrimExpr:
    """The distance of a tap from the first one."""
    if window.tap is None:
        return i64(0)
    return ops.multiply(as_int64(where[window.tap.var]), i64(window.dilation))


def _zeros(window: tuple[Axis, ...], panel: Buffer, start: PrimExpr, end: PrimExpr, width: int) -> st.Stmt:
    """The last panel's columns beyond the end: harmless numbers instead of whatever memory holds."""
    k, v = index_var("k"), index_var("v")
    store = st.BufferStore(panel, ops.const(0, panel.dtype), (ops.add(ops.multiply(k, i64(width)), v),))
    fill = loop(k, product([a.extent for a in window]), loop(v, width, store, VECTORIZED))
    return st.IfThenElse(tir.LT(end, ops.add(start, i64(width))), fill)
