"""Sums of products over runs of points that are neighbours in memory, for convolutions that do not pack their input.

A task is a block of lines for a tile of output channels. Its points, including those between its lines, are cut into
runs of a few vectors whose sums stay in registers during the loops over channels and taps. The sums go to a scratch in
L1, from which lines are written through the epilogue. A convolution may have phases: separate sums for each, side by
side in the scratch.

Where one channel sees a line through more taps than a vector has lanes, taps one vector apart share their loads: a
vector of points reads through one tap what the previous vector reads through the tap one vector later.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.unpacked_tasks import (
    MOST_SHARING,
    Finished,
    Sums,
    Task,
    UnpackedConv,
    padded,
    taps_sharing,
)
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, TileShape
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    parallel_rows,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.flatten_buffers import as_int64, flat_buffer, flat_index
from baton._src.passes.tir.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer


def emit_tasks(conv: UnpackedConv, task: Task, shape: TileShape, target: Target) -> st.Stmt:
    """All tasks, shared out among the threads."""
    block, tile = task_axes(conv, task)
    body = one_task(conv, task, shape, block.var, tile.var)
    return parallel_rows((*conv.outer, block, tile), work_of(conv, task, shape), body, target.num_cores)


def task_axes(conv: UnpackedConv, task: Task) -> tuple[Axis, Axis]:
    """The blocks of lines and the tiles of output channels."""
    rows, lines, _ = conv.sizes
    block, tile = index_var("block"), index_var("tile")
    return Axis(block, i64(-(-lines // task.lines))), Axis(tile, i64(-(-rows // task.rows)))


def work_of(conv: UnpackedConv, task: Task, shape: TileShape) -> int:
    """Multiply-adds of vectors of a task."""
    return conv.terms * conv.planes * -(-conv.extent(task.lines) // shape.lanes) * task.rows


def one_task(conv: UnpackedConv, task: Task, shape: TileShape, block: tir.Var, tile: tir.Var) -> st.Stmt:
    """The task of a block of lines and a tile of output channels, smaller at the ends."""
    rows, lines, _ = conv.sizes
    line, row = ops.multiply(block, i64(task.lines)), ops.multiply(tile, i64(task.rows))

    def of_rows(count: int) -> st.Stmt:
        return _cut(
            block, lines, task.lines, lambda n: _task(conv, replace(task, rows=count, lines=n), row, line, shape)
        )

    return _cut(tile, rows, task.rows, of_rows)


def _cut(which: tir.Var, size: int, part: int, body: Callable[[int], st.Stmt]) -> st.Stmt:
    """`body` of a part's size, which is smaller at the end where `part` does not divide `size`."""
    full = body(min(part, size))
    if size % part == 0:
        return full
    return st.IfThenElse(tir.LT(which, i64(size // part)), full, body(size % part))


def _task(conv: UnpackedConv, task: Task, row: PrimExpr, line: PrimExpr, shape: TileShape) -> st.Stmt:
    """All runs of a task into the scratch, then its lines out of it."""
    extent = conv.extent(task.lines)
    pitch = padded(extent, shape.lanes)
    dtype = conv.data.dtype
    size = conv.planes * task.rows * pitch + (shape.lanes if conv.phases else 0)
    sums = Sums(local_buffer("sums", (size,), dtype), task.rows, pitch, shape.lanes)
    # Axes of the loops get fresh variables: other tasks have the same loops.
    phases = tuple(Axis(tir.Var(a.var.name, a.var.dtype), a.extent) for a in conv.phases)
    where: dict[tir.Var, PrimExpr] = {a.var: b.var for a, b in zip(conv.phases, phases)}
    plane: PrimExpr = i64(0)
    for axis in phases:
        plane = ops.add(ops.multiply(plane, as_int64(axis.extent)), as_int64(axis.var))
    parts: list[st.Stmt] = []
    width = min(task.vectors, extent // shape.lanes) * shape.lanes
    part = None if task.depth is None else _Part(index_var("part"), task.depth)
    full = extent // width * width if width else 0
    if width:
        run = index_var("run")
        start = ops.multiply(run, i64(width))
        place = _Place(row, line, start, start, plane, where)
        parts.append(loop(run, extent // width, _run(conv, width, place, sums, part)))
    if rest := extent - full:
        # The last run begins early enough to end with the points: what two runs compute is the same.
        last = min(padded(rest, shape.lanes), extent)
        kept = i64(extent - last) if part is None else i64(full)
        parts.append(_run(conv, last, _Place(row, line, i64(extent - last), kept, plane, where), sums, part))
    body = nest(phases, sequence(*parts))
    if part is not None:
        body = _by_parts(conv, body, part, sums, full, rest)
    return allocated(sums.buffer, sequence(body, conv.write(conv, Finished(task, row, line, sums))))


@dataclass(frozen=True, eq=False)
class _Part:
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


def _by_parts(conv: UnpackedConv, body: st.Stmt, part: _Part, sums: Sums, full: int, rest: int) -> st.Stmt:
    """`body`, which adds the terms of a part to the scratch, for each part. The last run has sums of its own, behind
    the `full` points of the others; of them, the `rest` that no other run has are wanted, its last ones.
    """
    n, size = index_var("n"), sums.buffer.shape[0]
    begin = loop(n, size, st.BufferStore(sums.buffer, conv.init, (n,)), VECTORIZED)
    all_parts = loop(part.number, -(-(conv.reduce[0].size or 0) // part.depth), body)
    twice = padded(rest, sums.lanes) - rest
    if not twice:
        return sequence(begin, all_parts)
    row, lane = index_var("row"), index_var("v")
    at = ops.add(ops.add(ops.multiply(row, i64(sums.pitch)), i64(full)), lane)
    moved = st.BufferStore(sums.buffer, tir.BufferLoad(sums.buffer, (ops.add(at, i64(twice)),)), (at,))
    return sequence(begin, all_parts, loop(row, conv.planes * sums.rows, loop(lane, rest, moved, VECTORIZED)))


@dataclass(frozen=True, eq=False)
class _Place:
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
class _At:
    """An element of a buffer over one dim."""

    buffer: Buffer
    place: PrimExpr

    def moved(self, by: PrimExpr) -> PrimExpr:
        return ops.add(self.place, by)

    def load(self, by: PrimExpr) -> tir.BufferLoad:
        return tir.BufferLoad(self.buffer, (self.moved(by),))


def _run(conv: UnpackedConv, width: int, place: _Place, sums: Sums, part: _Part | None) -> st.Stmt:
    """The sums of `width` points for the scratch's rows: all of their terms, or those of a part added to them."""
    acc = Accumulators.of(sums.rows, width, sums.buffer.dtype)
    own = {a.var: tir.Var(a.var.name, a.var.dtype) for a in conv.reduce}
    where: dict[tir.Var, PrimExpr] = {**own, **place.phases, conv.columns.var: ops.const(0, conv.columns.var.dtype)}
    for axis, at in ((conv.lines, place.line), (conv.rows, place.row)):
        if axis is not None:
            where[axis.var] = ops.cast(axis.var.dtype, at)
    data, weight = flat_buffer(conv.data.buffer), flat_buffer(conv.weight.buffer)
    first, taps = index_var("first"), index_var("taps")
    far = 0 if conv.rows is None else step(conv.weight, conv.rows) or 0

    def term(number: int, lane: tir.Var) -> PrimExpr:
        left = tir.BufferLoad(weight, (ops.add(taps, i64(number * far)),))
        return tir.Add(acc.load(number, lane), tir.Mul(left, tir.BufferLoad(data, (ops.add(first, lane),))))

    seen = ops.add(substitute_and_fold(flat_index(conv.data.buffer, conv.data.indices), where), place.start)
    through = substitute_and_fold(flat_index(conv.weight.buffer, conv.weight.indices), where)
    axes = [Axis(own[a.var], substitute_and_fold(a.extent, place.phases)) for a in conv.reduce]
    if part is not None:
        channel = axes[0].var
        deeper = {channel: ops.add(channel, ops.cast(channel.dtype, part.first()))}
        seen, through = substitute_and_fold(seen, deeper), substitute_and_fold(through, deeper)
        axes[0] = part.of(axes[0])
    if width % sums.lanes == 0 and taps_sharing(conv, sums.rows, sums.lanes) > 1:
        line = {axes[-1].var: ops.const(0, axes[-1].var.dtype)}
        seen, through = substitute_and_fold(seen, line), substitute_and_fold(through, line)
        update = _along_line(conv, acc, sums.lanes, _At(data, first), _At(weight, taps))
        terms = nest(axes[:-1], st.LetStmt(first, seen, st.LetStmt(taps, through, update)))
    else:
        update = st.LetStmt(first, seen, st.LetStmt(taps, through, acc.each(term)))
        terms = nest(axes, update)
    rows = [ops.add(sums.row(place.plane, i64(n)), place.kept) for n in range(sums.rows)]

    def begin(number: int, lane: tir.Var) -> PrimExpr:
        return conv.init if part is None else tir.BufferLoad(sums.buffer, (ops.add(rows[number], lane),))

    kept = [_kept(acc, n, sums, at) for n, at in enumerate(rows)]
    return allocated(acc.buffer, sequence(acc.each(begin), terms, *kept))


def _along_line(conv: UnpackedConv, acc: Accumulators, lanes: int, data: _At, weight: _At) -> st.Stmt:
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
                parts.append(loop(tap, number, _sharing_loads(acc, lanes, _At(data.buffer, data.moved(at)), factors)))
    return sequence(*parts)


def _sharing_loads(acc: Accumulators, lanes: int, data: _At, factors: list[tir.BufferLoad]) -> st.Stmt:
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


def _kept(acc: Accumulators, row: int, sums: Sums, at: PrimExpr) -> st.Stmt:
    lane = index_var("v")
    store = st.BufferStore(sums.buffer, acc.load(row, lane), (ops.add(at, lane),))
    return loop(lane, acc.width, store, VECTORIZED)
