"""Transposed convolutions: separate sums for each phase of the stride, interleaved when they are written.

    Y[n, o, y] = sum over c, r of X[n, c, (y + r - b) / s] * W[c, o, k - 1 - r]        where s divides y + r - b

A result y = s * q + f sees taps r = s * t + g only, g = (b - f) mod s, and through them q + t + (f + g - b) / s: for
each phase f that is a convolution with stride 1 and fewer taps. So no multiply-add is spent on the zeros between spread
data, or on taps that a phase does not have. The points of all phases are one grid of q, computed like `unpacked/runs`;
the phases of a line are interleaved when they leave the scratch, by shuffles if their number is a power of 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.conv_border import Border
from baton._src.lower.kernel_schedules.convolution.conv_window import Window, with_border_inside
from baton._src.lower.kernel_schedules.convolution.transposed.spread_axes import Spread, read_spreads
from baton._src.lower.kernel_schedules.convolution.transposed.taps_outermost import with_taps_outermost
from baton._src.lower.kernel_schedules.convolution.unpacked.border_bands import emit_with_border
from baton._src.lower.kernel_schedules.convolution.unpacked.choice import choose_task
from baton._src.lower.kernel_schedules.convolution.unpacked.tasks import (
    Finished,
    Sums,
    UnpackedConv,
    waste,
)
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.register_shuffles import INTERLEAVED, interleave
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.prim_func import PrimFunc

MOST_WASTE = 2.0
"""Points computed per result above which one convolution for all phases is better."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    for stage in kernel.stages:
        if isinstance(stage, Stage) and stage.reduce:
            smaller, inside = with_border_inside(kernel, stage)
            parts = read_spreads(inside)
            if parts is not None:
                return _scheduled(smaller, inside, *parts, target)
    return Declined("no stage is a transposed convolution with a stride")


def _scheduled(
    kernel: Kernel, stage: Stage, spreads: list[Spread], load: tir.BufferLoad, weight: tir.BufferLoad, target: Target
) -> PrimFunc | Declined:
    found = find_anchor(kernel, lambda s: s is stage)
    assert found is not None
    alone = all((s.tap.size or 1) <= s.stride for s in spreads)  # several taps of a phase share lines of the cache
    moved = with_taps_outermost(weight, [s.tap for s in spreads], target) if alone else None
    border, conv = _by_phases(found, spreads, load, weight if moved is None else moved.load)
    shape = tile_shape(target, stage.buffer.dtype)
    task = choose_task(conv, shape, target.cpu)
    if task is None or waste(conv, task, shape) > MOST_WASTE:
        return Declined("too few points")
    kernel, body = emit_with_border(kernel, conv, task, border, shape, target)
    if moved is not None:
        kernel = replace(kernel, local=(*kernel.local, moved.load.buffer))
        body = sequence(moved.written, body)
    return kernel.rebuilt(surrounded(kernel, found, body, target))


# ------------------------------------------------------------------------------------------------- by phases


def _by_phases(
    found: Anchored, spreads: list[Spread], load: tir.BufferLoad, weight: tir.BufferLoad
) -> tuple[Border | None, UnpackedConv]:
    """The input with its border (None: all phases see what is there only), and the convolution over the grid of points
    and the phases.
    """
    stage = found.stage
    alone = all(s.first == 0 and s.points + s.reach == s.extent for s in spreads)
    border = None if alone else _border(load, spreads)
    source = load.buffer if border is None else border.stage.buffer
    grid = [Axis(index_var("q"), i64(s.points)) for s in spreads]
    phases = [Axis(index_var("f"), i64(s.stride)) for s in spreads]
    taps = [Axis(tir.Var(s.tap.var.name, "int64"), _taps(s, f.var)) for s, f in zip(spreads, phases)]
    lead = load.indices[: -len(spreads)]
    every = list(zip(spreads, grid, taps, phases))
    seen = [ops.add(ops.add(q.var, t.var), _ahead(s, f.var)) for s, q, t, f in every]
    through: list[PrimExpr] = list(weight.indices)
    for spread, tap, phase in zip(spreads, taps, phases):
        place = next(n for n, i in enumerate(through) if depends(i, spread.tap.var))
        behind = ops.add(_behind(spread, phase.var), ops.multiply(tap.var, i64(spread.stride)))
        through[place] = ops.subtract(i64((spread.tap.size or 1) - 1), behind)
    axes = stage.spatial[: -len(spreads)]
    rows = [a for a in axes if depends(weight, a.var) and not depends(load, a.var)]
    rows = rows if len(rows) == 1 and rows[0].size is not None else []
    outer = [a for a in axes if a not in rows]
    for q, f in list(zip(grid, phases))[:-2]:
        outer += [q, f]
    others = tuple(a for a in stage.reduce if all(a is not s.tap for s in spreads))
    terms = prod(a.size or 64 for a in others) * max(1, prod((s.tap.size or 1) / s.stride for s in spreads))
    conv = UnpackedConv(
        outer=tuple(outer),
        rows=rows[0] if rows else None,
        lines=grid[-2] if len(grid) > 1 else None,
        columns=grid[-1],
        pitch=_size(source.shape[-1]),
        data=tir.BufferLoad(source, (*lead, *seen)),
        weight=tir.BufferLoad(weight.buffer, tuple(through)),
        reduce=(*others, *taps),
        terms=max(1, round(terms)),
        init=ops.const(0, stage.buffer.dtype) if stage.init is None else stage.init,
        write=partial(_written, found, spreads, grid, phases),
        phases=tuple(phases[-2:]),
    )
    return border, conv


def _behind(spread: Spread, phase: PrimExpr) -> PrimExpr:
    """The first tap that a phase sees."""
    return ops.floormod(ops.subtract(i64(spread.begin), phase), i64(spread.stride))


def _ahead(spread: Spread, phase: PrimExpr) -> PrimExpr:
    """The input that point 0 of a phase sees through that tap, counted from the first that any phase sees."""
    place = ops.subtract(ops.add(phase, _behind(spread, phase)), i64(spread.begin))
    return ops.subtract(ops.floordiv(place, i64(spread.stride)), i64(spread.first))


def _taps(spread: Spread, phase: PrimExpr) -> PrimExpr:
    """How many taps a phase has: all the same number where the stride divides them."""
    if (spread.tap.size or 1) % spread.stride == 0:
        return i64((spread.tap.size or 1) // spread.stride)
    left = ops.subtract(i64((spread.tap.size or 1) + spread.stride - 1), _behind(spread, phase))
    return ops.floordiv(left, i64(spread.stride))


def _size(dim: PrimExpr) -> int:
    assert isinstance(dim, tir.IntImm)
    return dim.value


def _border(load: tir.BufferLoad, spreads: list[Spread]) -> Border:
    """P[q] = X[q + first], zeros outside, for all that the grid sees."""
    dims = list(load.buffer.shape)
    lead = len(dims) - len(spreads)
    kinds = [index.dtype for index in load.indices]
    shape = [*dims[:lead], *(tir.IntImm(k, s.points + s.reach) for s, k in zip(spreads, kinds[lead:]))]
    axes = [Axis(tir.Var(f"b{n}", kind), dim) for n, (kind, dim) in enumerate(zip(kinds, shape))]
    source: list[PrimExpr] = [a.var for a in axes]
    inside: PrimExpr = tir.IntImm("bool", 1)
    for place, spread in enumerate(spreads, lead):
        at = ops.add(axes[place].var, tir.IntImm(kinds[place], spread.first))
        source[place] = at
        inside = ops.logical_and(inside, ops.logical_and(at >= 0, at < spread.extent))
    buffer = decl_buffer(shape, load.dtype, "bordered")
    value = if_then_else(inside, tir.BufferLoad(load.buffer, tuple(source)), ops.const(0, load.dtype))
    last = spreads[-1]
    kind = kinds[-1]
    points, taps = (
        Axis(tir.Var(name, kind), tir.IntImm(kind, size)) for name, size in (("q", last.points), ("t", last.reach + 1))
    )
    columns = Window(points, taps, 1, 1, -last.first, tir.IntImm(kind, last.extent))
    return Border(Stage(buffer, tuple(axes), value), columns, None)


# --------------------------------------------------------------------------------------------------- writing


def _written(
    found: Anchored, spreads: list[Spread], grid: list[Axis], phases: list[Axis], conv: UnpackedConv, done: Finished
) -> st.Stmt:
    """The lines of a task, their phases interleaved, through the epilogue."""
    last, sums = spreads[-1], done.sums
    r, n, f, u = index_var("r"), index_var("line"), index_var("f"), index_var("u")
    at_line: list[tuple[PrimExpr, PrimExpr]] = [(q.var, p.var) for q, p in list(zip(grid, phases))[:-2]]
    if len(spreads) > 1:
        at_line.append((ops.add(done.line, n), f))
    places: dict[tir.Var, PrimExpr] = {last.axis.var: u}
    inside: PrimExpr = tir.IntImm("bool", 1)
    for spread, (point, phase) in zip(spreads, at_line):
        at = ops.add(ops.multiply(point, i64(spread.stride)), phase)
        places[spread.axis.var] = at
        if _size(spread.axis.extent) % spread.stride:
            inside = ops.logical_and(inside, at < _size(spread.axis.extent))
    if conv.rows is not None:
        places[conv.rows.var] = ops.add(done.row, r)

    def of_phase(phase: int) -> PrimExpr:
        plane = ops.add(ops.multiply(f, i64(last.stride)), i64(phase))
        return ops.add(sums.row(plane, r), ops.multiply(n, i64(conv.pitch)))

    wide = -(-last.points // sums.lanes) * sums.lanes * last.stride
    interleaved = local_buffer("interleaved", (wide,), sums.buffer.dtype)
    value = tir.BufferLoad(interleaved, (u,))
    out = loop(u, _size(last.axis.extent), found.store(value, places), VECTORIZED)
    body: st.Stmt = sequence(*_interleaved(interleaved, sums, of_phase, last), out)
    body = body if isinstance(inside, tir.IntImm) else st.IfThenElse(inside, body)
    body = loop(n, done.task.lines, loop(f, spreads[-2].stride if len(spreads) > 1 else 1, body))
    return allocated(interleaved, loop(r, done.task.rows, body))


def _interleaved(interleaved: Buffer, sums: Sums, of_phase: Callable[[int], PrimExpr], last: Spread) -> list[st.Stmt]:
    """interleaved[q * s + f] = the sum of phase f at q, along a line; whole vectors, past the last sum too."""
    lanes = sums.lanes
    v = index_var("v")
    first = ops.multiply(v, i64(lanes))
    vectors: list[PrimExpr] = []
    for phase in range(last.stride):
        ramp = tir.Ramp(ops.add(of_phase(phase), first), i64(1), lanes)
        vectors.append(tir.BufferLoad(sums.buffer, (ramp,)))
    count = -(-last.points // lanes)
    if last.stride in (1, *INTERLEAVED):
        ramp = tir.Ramp(ops.multiply(first, i64(last.stride)), i64(1), lanes * last.stride)
        return [loop(v, count, st.BufferStore(interleaved, interleave(vectors), (ramp,)))]
    parts: list[st.Stmt] = []
    for phase in range(last.stride):
        u = index_var("u")
        value = tir.BufferLoad(sums.buffer, (ops.add(of_phase(phase), u),))
        at = ops.add(ops.multiply(u, i64(last.stride)), i64(phase))
        parts.append(loop(u, last.points, st.BufferStore(interleaved, value, (at,)), VECTORIZED))
    return parts
