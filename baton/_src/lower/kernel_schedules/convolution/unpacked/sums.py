"""The sums of one run of points of a convolution that does not pack its input, in registers (`runs`).

Where one channel sees a line through more taps than a vector has lanes, taps one vector apart share their loads: a
vector of points reads through one tap what the previous vector reads through the tap one vector later.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.unpacked.tasks import (
    MOST_SHARING,
    Sums,
    UnpackedConv,
    taps_sharing,
)
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    loop,
    nest,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import flat_buffer, flat_index
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer


@dataclass(frozen=True, eq=False)
class Part:
    """Number `number` of the parts of the outermost axis of the sums, of `depth` points."""

    number: tir.Var
    depth: int

    def first(self) -> PrimExpr:
        return ops.multiply(self.number, i64(self.depth))

    def of(self, axis: Axis) -> Axis:
        """The axis within the part: the last one may be smaller."""
        size = axis.size or 0
        even = size % self.depth == 0
        count = i64(self.depth) if even else ops.min(i64(self.depth), ops.subtract(i64(size), self.first()))
        return Axis(axis.var, ops.cast(axis.var.dtype, count))


@dataclass(frozen=True, eq=False)
class Place:
    """Where a run is: its first output channel, the first line of its task, the first of the task's points, where in
    the scratch's rows its sums are, the number of its phase and the phases' variables.
    """

    row: PrimExpr
    line: PrimExpr
    start: PrimExpr
    kept: PrimExpr
    plane: PrimExpr
    phases: dict[tir.Var, PrimExpr]


@dataclass(frozen=True, eq=False)
class At:
    """An element of a buffer over one dim."""

    buffer: Buffer
    place: PrimExpr

    def moved(self, by: PrimExpr) -> PrimExpr:
        return ops.add(self.place, by)

    def load(self, by: PrimExpr) -> tir.BufferLoad:
        return tir.BufferLoad(self.buffer, (self.moved(by),))


def terms_of(conv: UnpackedConv, place: Place, part: Part | None) -> tuple[PrimExpr, PrimExpr, list[Axis]]:
    """Where a run's first point finds its input and the first channel its weight, and the axes of the sum."""
    own = {a.var: tir.Var(a.var.name, a.var.dtype) for a in conv.reduce}
    where: dict[tir.Var, PrimExpr] = {**own, **place.phases, conv.columns.var: ops.const(0, conv.columns.var.dtype)}
    for axis, at in ((conv.lines, place.line), (conv.rows, place.row)):
        if axis is not None:
            where[axis.var] = ops.cast(axis.var.dtype, at)
    seen = ops.add(substitute_and_fold(flat_index(conv.data.buffer, conv.data.indices), where), place.start)
    through = substitute_and_fold(flat_index(conv.weight.buffer, conv.weight.indices), where)
    axes = [Axis(own[a.var], substitute_and_fold(a.extent, place.phases)) for a in conv.reduce]
    if part is not None:
        channel = axes[0].var
        deeper = {channel: ops.add(channel, ops.cast(channel.dtype, part.first()))}
        seen, through = substitute_and_fold(seen, deeper), substitute_and_fold(through, deeper)
        axes[0] = part.of(axes[0])
    return seen, through, axes


def sums_of_run(conv: UnpackedConv, width: int, place: Place, sums: Sums, part: Part | None) -> st.Stmt:
    """The sums of `width` points for the scratch's rows: all of their terms, or those of a part added to them."""
    acc = Accumulators.of(sums.rows, width, sums.buffer.dtype)
    data, weight = flat_buffer(conv.data.buffer), flat_buffer(conv.weight.buffer)
    first, taps = index_var("first"), index_var("taps")
    far = 0 if conv.rows is None else step(conv.weight, conv.rows) or 0

    def term(number: int, lane: tir.Var) -> PrimExpr:
        left = tir.BufferLoad(weight, (ops.add(taps, i64(number * far)),))
        return tir.Add(acc.load(number, lane), tir.Mul(left, tir.BufferLoad(data, (ops.add(first, lane),))))

    seen, through, axes = terms_of(conv, place, part)
    if width % sums.lanes == 0 and taps_sharing(conv, sums.rows, sums.lanes) > 1:
        line = {axes[-1].var: ops.const(0, axes[-1].var.dtype)}
        seen, through = substitute_and_fold(seen, line), substitute_and_fold(through, line)
        update = _along_line(conv, acc, sums.lanes, At(data, first), At(weight, taps))
        terms = nest(axes[:-1], st.LetStmt(first, seen, st.LetStmt(taps, through, update)))
    else:
        update = st.LetStmt(first, seen, st.LetStmt(taps, through, acc.each(term)))
        terms = nest(axes, update)
    rows = [ops.add(sums.row(place.plane, i64(n)), place.kept) for n in range(sums.rows)]

    def begin(number: int, lane: tir.Var) -> PrimExpr:
        return conv.init if part is None else tir.BufferLoad(sums.buffer, (ops.add(rows[number], lane),))

    kept = [kept_row(acc, n, sums, at) for n, at in enumerate(rows)]
    return allocated(acc.buffer, sequence(acc.each(begin), terms, *kept))


def _along_line(conv: UnpackedConv, acc: Accumulators, lanes: int, data: At, weight: At) -> st.Stmt:
    """The terms of all taps along a line, whose first one sees `data` and has its weight at `weight`; loads are shared
    by taps a vector apart.
    """
    move = step(conv.weight, conv.reduce[-1]) or 0
    size, most = conv.reduce[-1].size or 0, MOST_SHARING * lanes
    parts = []
    for first in range(0, size, most):
        whole, rest = divmod(min(most, size - first), lanes)
        for begin, number, count in ((first, rest, whole + 1), (first + rest, lanes - rest, whole)):
            if number and count:
                tap = index_var("tap")
                at = ops.add(tap, i64(begin))
                factors = [weight.load(ops.multiply(ops.add(at, i64(n * lanes)), i64(move))) for n in range(count)]
                parts.append(loop(tap, number, _sharing_loads(acc, lanes, At(data.buffer, data.moved(at)), factors)))
    return sequence(*parts)


def _sharing_loads(acc: Accumulators, lanes: int, data: At, factors: list[tir.BufferLoad]) -> st.Stmt:
    """Terms of taps a vector apart, by their weights, the first of which sees `data`."""
    names = [tir.Var(f"w{n}", acc.buffer.dtype) for n in range(len(factors))]
    vectors = acc.width // lanes
    parts = []
    for place in range(vectors + len(names) - 1):
        seen = tir.Var("x", acc.buffer.dtype.with_lanes(lanes))
        terms = []
        for further, name in enumerate(names):
            if 0 <= place - further < vectors:
                there = tir.Ramp(i64((place - further) * lanes), i64(1), lanes)
                value = tir.Mul(tir.Broadcast(name, lanes), seen)
                terms.append(st.BufferStore(acc.buffer, tir.Add(tir.BufferLoad(acc.buffer, (there,)), value), (there,)))
        from_line = tir.Ramp(data.moved(i64(place * lanes)), i64(1), lanes)
        parts.append(st.LetStmt(seen, tir.BufferLoad(data.buffer, (from_line,)), sequence(*terms)))
    body = sequence(*parts)
    for name, factor in zip(reversed(names), reversed(factors)):
        body = st.LetStmt(name, factor, body)
    return body


def kept_row(acc: Accumulators, row: int, sums: Sums, at: PrimExpr) -> st.Stmt:
    lane = index_var("v")
    store = st.BufferStore(sums.buffer, acc.load(row, lane), (ops.add(at, lane),))
    return loop(lane, acc.width, store, VECTORIZED)
