"""Sums of products over runs of points that are neighbours in memory, for convolutions that do not pack their input.

A task is a block of lines for a tile of output channels. Its points, including those between its lines, are cut into
runs of a few vectors whose sums stay in registers during the loops over channels and taps. The sums go to a scratch in
L1, from which lines are written through the epilogue. A convolution may have phases: separate sums for each, side by
side in the scratch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.unpacked.sums import Part, Place, sums_of_run
from baton._src.lower.kernel_schedules.convolution.unpacked.tall_runs import tall_runs
from baton._src.lower.kernel_schedules.convolution.unpacked.tasks import (
    Finished,
    Sums,
    Task,
    UnpackedConv,
    padded,
)
from baton._src.lower.kernel_schedules.products.tiles import TileShape
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
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st


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
    begin = Place(row, line, i64(0), i64(0), plane, where)
    if task.tall > 1:
        body = nest(phases, sequence(*tall_runs(conv, task, sums, begin)))
    else:
        body = _flat_runs(conv, task, sums, begin, phases)
    return allocated(sums.buffer, sequence(body, conv.write(conv, Finished(task, row, line, sums))))


def _flat_runs(conv: UnpackedConv, task: Task, sums: Sums, begin: Place, phases: tuple[Axis, ...]) -> st.Stmt:
    """Runs over all points of a task that begins at `begin`, including those between its lines."""
    extent, lanes = conv.extent(task.lines), sums.lanes
    parts: list[st.Stmt] = []
    width = min(task.vectors, extent // lanes) * lanes
    part = None if task.depth is None else Part(index_var("part"), task.depth)
    full = extent // width * width if width else 0
    if width:
        run = index_var("run")
        start = ops.multiply(run, i64(width))
        place = replace(begin, start=start, kept=start)
        parts.append(loop(run, extent // width, sums_of_run(conv, width, place, sums, part)))
    if rest := extent - full:
        # The last run begins early enough to end with the points: what two runs compute is the same.
        last = min(padded(rest, lanes), extent)
        kept = i64(extent - last) if part is None else i64(full)
        place = replace(begin, start=i64(extent - last), kept=kept)
        parts.append(sums_of_run(conv, last, place, sums, part))
    body = nest(phases, sequence(*parts))
    return body if part is None else _by_parts(conv, body, part, sums, full, rest)


def _by_parts(conv: UnpackedConv, body: st.Stmt, part: Part, sums: Sums, full: int, rest: int) -> st.Stmt:
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
