"""Borders of blocked convolutions whose row length is known only at run time, as zeros around a copy of the input.

    P[.., line, column, i] = X[.., line - b, column - d, i], zeros outside       Y sees P[.., h*s + kh, w*s + kw, i]

The position of the border in a tile is unknown when compiling, so tiles must not touch it. Dense convolutions copy all
maps first, which costs little compared to the sums. Depthwise ones copy a band of lines of one block at a time, which
stays in L2.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv
from baton._src.lower.kernel_schedules.convolution.conv_window import Window
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    i64,
    index_var,
    local_buffer,
    loop,
    named,
    parallel_rows,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined
from baton._src.passes.tir.lowering.flatten_buffers import as_int64, flat_buffer, flat_index
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, decl_buffer

BAND = 5
"""Lines of a band for each line that a window spans: what bands copy twice is a fifth."""


@dataclass(frozen=True, eq=False)
class Border:
    """A convolution's input with its border: `place` is the dim of rows of what `source` loads, columns follow."""

    rows: Window
    columns: Window
    source: tir.BufferLoad
    place: int

    @property
    def inner(self) -> tuple[PrimExpr, ...]:
        """The dims of a point: none, or the channels of a block."""
        return tuple(self.source.buffer.shape[self.place + 2 :])

    def seen(self, top: PrimExpr, lead: tuple[PrimExpr, ...], buffer: Buffer) -> tir.BufferLoad:
        """What the taps see in a copy whose first line is the first that row `top` sees."""
        row = ops.subtract(as_int64(self.rows.axis.var), top)
        places = (_through(self.rows, row), _through(self.columns, as_int64(self.columns.axis.var)))
        return tir.BufferLoad(buffer, (*lead, *places, *self.source.indices[self.place + 2 :]))

    def lines(self, count: PrimExpr) -> PrimExpr:
        """The lines that so many rows see."""
        return _reach(self.rows, count)

    @property
    def length(self) -> PrimExpr:
        """The points of a line, with the border."""
        return _reach(self.columns, as_int64(self.columns.axis.extent))

    def copied(self, buffer: Buffer, lead: tuple[PrimExpr, ...], line: PrimExpr, top: PrimExpr) -> st.Stmt:
        """A line of the copy; it is line `top` of the input, if there is such a one."""
        window, source = self.columns, self.source.buffer
        each = product(self.inner)
        zeros = (i64(0),) * len(self.inner)
        into = flat_index(buffer, (*buffer_lead(buffer, lead, len(self.inner)), line, i64(0), *zeros))
        flat, whole = flat_buffer(buffer), ops.multiply(self.length, each)
        left = ops.multiply(i64(window.begin), each)
        wanted = ops.subtract(self.length, i64(window.begin))
        count = ops.multiply(ops.max(i64(0), ops.min(as_int64(window.extent), wanted)), each)
        first = flat_index(source, (*lead, top, i64(0), *zeros))
        zero = ops.const(0, source.dtype)

        def run(at: PrimExpr, number: PrimExpr, begin: PrimExpr | None) -> st.Stmt:
            v = index_var("v")
            value = zero if begin is None else tir.BufferLoad(flat_buffer(source), (ops.add(begin, v),))
            return loop(v, number, st.BufferStore(flat, value, (ops.add(at, v),)), VECTORIZED)

        def with_border(place: PrimExpr) -> st.Stmt:
            end = ops.add(left, count)
            parts = [run(place, left, None)] if window.begin else []
            parts.append(run(ops.add(place, left), count, first))
            parts.append(run(ops.add(place, end), ops.subtract(whole, end), None))
            inside = ops.logical_and(tir.GE(top, i64(0)), tir.LT(top, as_int64(self.rows.extent)))
            return st.IfThenElse(inside, sequence(*parts), run(place, whole, None))

        return named("place", into, with_border)


def buffer_lead(buffer: Buffer, lead: tuple[PrimExpr, ...], inner: int) -> tuple[PrimExpr, ...]:
    """The leading indices that a copy has: all, or none if it is of one map."""
    return lead if len(buffer.shape) == len(lead) + 2 + inner else ()


def border_of(conv: BlockedConv) -> Border | Declined | None:
    """The border to be copied; None where tiles never touch one, or where its place is known."""
    if conv.columns.axis.size is not None or conv.columns.whole:
        return None
    rows, load = conv.rows, conv.data
    if rows is None:
        return Declined("a row of unknown length with a border")
    place = next(n for n, index in enumerate(load.indices) if depends(index, rows.axis.var))
    if place + 1 >= len(load.indices) or not depends(load.indices[place + 1], conv.columns.axis.var):
        return Declined("columns do not follow rows")
    if rows.begin < 0 or conv.columns.begin < 0:
        return Declined("the window begins inside")
    return Border(rows, conv.columns, load, place)


def maps_copied(conv: BlockedConv, border: Border, target: Target) -> tuple[BlockedConv, Buffer, st.Stmt]:
    """The convolution of a copy of all maps, the copy, and the loops that make it."""
    lead = border.source.buffer.shape[: border.place]
    lines = border.lines(as_int64(border.rows.axis.extent))
    buffer = decl_buffer([*lead, lines, border.length, *border.inner], border.source.dtype, "bordered")
    axes = [Axis(index_var("b"), as_int64(dim)) for dim in lead]
    line = Axis(index_var("line"), lines)
    at = tuple(a.var for a in axes)
    body = border.copied(buffer, at, line.var, ops.subtract(line.var, i64(border.rows.begin)))
    work = ops.floordiv(ops.multiply(border.length, product(border.inner)), i64(4))
    copying = parallel_rows((*axes, line), ops.add(work, i64(1)), body, target.num_cores)
    data = border.seen(i64(0), border.source.indices[: border.place], buffer)
    return _of(conv, border, data, lines), buffer, copying


@dataclass(frozen=True, eq=False)
class Band:
    """A band of lines of one block: its number and rows (all but the last have `height`), the convolution of its copy,
    the copy and how it is made.
    """

    axis: Axis
    top: PrimExpr
    rows: PrimExpr
    height: int
    conv: BlockedConv
    buffer: Buffer
    copied: st.Stmt


def band_copied(conv: BlockedConv, border: Border, lead: tuple[PrimExpr, ...]) -> Band:
    """A band of the map at `lead`."""
    rows = border.rows
    height = BAND * ((rows.taps - 1) * rows.dilation + 1)
    extent = as_int64(rows.axis.extent)
    axis = Axis(index_var("band"), ops.floordiv(ops.add(extent, i64(height - 1)), i64(height)))
    top = ops.multiply(axis.var, i64(height))
    count = ops.min(i64(height), ops.subtract(extent, top))
    most = border.lines(ops.min(i64(height), extent))
    buffer = local_buffer("bordered", (most, border.length, *border.inner), border.source.dtype)
    line = index_var("line")
    first = ops.subtract(ops.multiply(top, i64(rows.stride)), i64(rows.begin))
    body = border.copied(buffer, lead, line, ops.add(first, line))
    copying = loop(line, border.lines(count), body)
    return Band(axis, top, count, height, _of(conv, border, border.seen(top, (), buffer), most), buffer, copying)


def _of(conv: BlockedConv, border: Border, data: tir.BufferLoad, lines: PrimExpr) -> BlockedConv:
    rows = replace(border.rows, begin=0, extent=lines, whole=True)
    columns = replace(border.columns, begin=0, extent=border.length, whole=True)
    return replace(conv, rows=rows, columns=columns, data=data)


def _through(window: Window, point: PrimExpr) -> PrimExpr:
    """Where a point sees the copy through the window's tap."""
    at = ops.multiply(point, i64(window.stride))
    if window.tap is None:
        return at
    return ops.add(at, ops.multiply(as_int64(window.tap.var), i64(window.dilation)))


def _reach(window: Window, points: PrimExpr) -> PrimExpr:
    """How much of the input, with its border, so many points see."""
    before = ops.multiply(ops.subtract(points, i64(1)), i64(window.stride))
    return ops.max(i64(0), ops.add(before, i64((window.taps - 1) * window.dilation + 1)))
