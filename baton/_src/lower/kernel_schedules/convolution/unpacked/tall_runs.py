"""Runs of several lines one below the other, for convolutions of few output channels that do not pack their input.

With few output channels, a vector of the input serves few sums of a line, and loads, nearly all of which cross a line
of the cache, take longer than multiply-adds. A line of the input belongs to several lines of the result, each of which
sees it through another tap; so each vector is loaded once for all of them:

    for c, kw:  for each line l of the input:  x = X[c, l, kw ..]  for kh, o:  Y[o, l - kh, ..] += W[o, c, kh, kw] * x

The weights of a column of the window stay in registers. Unlike other runs, these end with their line.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.lower.kernel_schedules.convolution.unpacked.sums import Place, kept_row, terms_of
from baton._src.lower.kernel_schedules.convolution.unpacked.tasks import Sums, Task, UnpackedConv, lines_tap, padded
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.loops import allocated, i64, index_var, loop, nest, sequence
from baton._src.passes.tir.lowering.flatten_buffers import flat_buffer
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st


def tall_runs(conv: UnpackedConv, task: Task, sums: Sums, place: Place) -> list[st.Stmt]:
    """All runs of a task that begins at `place`."""
    whole, left = divmod(task.lines, task.tall)
    group = index_var("group")
    parts = []
    if whole:
        start = ops.multiply(group, i64(task.tall * conv.pitch))
        parts.append(loop(group, whole, sequence(*_along(conv, task, sums, replace(place, start=start)))))
    if left:
        start = i64(whole * task.tall * conv.pitch)
        parts += _along(conv, replace(task, tall=left), sums, replace(place, start=start))
    return parts


def _along(conv: UnpackedConv, task: Task, sums: Sums, place: Place) -> list[st.Stmt]:
    """The runs along `task.tall` lines, the last of which ends with them."""
    columns, width = conv.sizes[2], task.vectors * sums.lanes
    run, parts = index_var("run"), []
    if columns >= width:
        at = ops.add(place.start, ops.multiply(run, i64(width)))
        parts.append(loop(run, columns // width, _sums(conv, task.tall, width, replace(place, start=at), sums)))
    if rest := columns % width:
        last = padded(rest, sums.lanes)
        at = ops.add(place.start, i64(columns - last))
        parts.append(_sums(conv, task.tall, last, replace(place, start=at), sums))
    return parts


def _sums(conv: UnpackedConv, lines: int, width: int, place: Place, sums: Sums) -> st.Stmt:
    """The sums of `width` points of so many lines for the scratch's rows."""
    found = lines_tap(conv)
    assert found is not None
    tap, dilation = found
    taps, dtype, vectors = tap.size or 1, sums.buffer.dtype, width // sums.lanes
    acc = Accumulators.of(sums.rows * lines, width, dtype)
    seen, through, axes = terms_of(conv, place, None)
    down = axes[conv.reduce.index(tap)]
    top = {down.var: ops.const(0, down.var.dtype)}
    seen, through = substitute_and_fold(seen, top), substitute_and_fold(through, top)
    move, far = step(conv.weight, tap) or 0, 0 if conv.rows is None else step(conv.weight, conv.rows) or 0
    first, factor = index_var("first"), index_var("factor")
    weights = [[tir.Var(f"w{row}_{n}", dtype) for n in range(taps)] for row in range(sums.rows)]

    def term(row: int, line: int, vector: int, weight: tir.Var, value: tir.Var) -> st.Stmt:
        there = tir.Ramp(i64((row * lines + line) * width + vector * sums.lanes), i64(1), sums.lanes)
        total = tir.Add(tir.BufferLoad(acc.buffer, (there,)), tir.Mul(tir.Broadcast(weight, sums.lanes), value))
        return st.BufferStore(acc.buffer, total, (there,))

    parts = []
    for line in range(lines + (taps - 1) * dilation):
        users = [(n, line - n * dilation) for n in range(taps) if 0 <= line - n * dilation < lines]
        for vector in range(vectors if users else 0):
            value = tir.Var("x", dtype.with_lanes(sums.lanes))
            at = tir.Ramp(ops.add(first, i64(line * conv.pitch + vector * sums.lanes)), i64(1), sums.lanes)
            terms = [term(r, y, vector, weights[r][n], value) for n, y in users for r in range(sums.rows)]
            load = tir.BufferLoad(flat_buffer(conv.data.buffer), (at,))
            parts.append(st.LetStmt(value, load, sequence(*terms)))
    body = sequence(*parts)
    for row in reversed(range(sums.rows)):
        for n in reversed(range(taps)):
            load = tir.BufferLoad(flat_buffer(conv.weight.buffer), (ops.add(factor, i64(row * far + n * move)),))
            body = st.LetStmt(weights[row][n], load, body)
    body = st.LetStmt(first, seen, st.LetStmt(factor, through, body))
    every_term = nest([a for a in axes if a is not down], body)
    every = [(r, y) for r in range(sums.rows) for y in range(lines)]
    places = [ops.add(sums.row(place.plane, i64(r)), ops.add(place.start, i64(y * conv.pitch))) for r, y in every]
    kept = [kept_row(acc, n, sums, at) for n, at in enumerate(places)]
    return allocated(acc.buffer, sequence(acc.each(lambda number, lane: conv.init), every_term, *kept))
