"""Convolutions that read their input in place: nothing is packed.

    Y[n, o, h, w] = sum over c, kh, kw of X[n, c, h + kh, w + kw] * W[o, c, kh, kw]          (X with its border)

With stride 1, neighbouring points read neighbouring memory through a tap, even from the end of one line to the
beginning of the next, if the points between (which see only the border) are computed as well. A task is a block of
lines for a tile of channels. Its points are cut into runs of a few vectors whose sums stay in registers during the
loops over channels and taps; X is read by vector loads, weights by broadcasts. The sums go to a scratch in L1, from
which whole lines are written through the epilogue, without the points between. An input with a stride is first split
into the stride's phases, which have stride 1.

This pays (`conv_costs`) for groups of few channels and results of few channels, over any number of spatial axes and
with dilation, and where lines are long. With many channels, packing is worth its cost.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.conv_border import Border, border_apart
from baton._src.lower.kernel_schedules.convolution.conv_costs import FEW_TERMS, Plan, copying, count, passing
from baton._src.lower.kernel_schedules.convolution.conv_groups import by_group, groups_of
from baton._src.lower.kernel_schedules.convolution.conv_window import with_border_inside
from baton._src.lower.kernel_schedules.convolution.unpacked.border_bands import bands_for, emit_with_border, has_bands
from baton._src.lower.kernel_schedules.convolution.unpacked.choice import choose_task
from baton._src.lower.kernel_schedules.convolution.unpacked.tasks import (
    Finished,
    Task,
    UnpackedConv,
    steps_of,
)
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends, known_step, step
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    i64,
    index_var,
    loop,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    found = plan(func, target)
    return found if isinstance(found, Declined) else found.make()


def plan(func: PrimFunc, target: Target) -> Plan | Declined:
    """The cost of this rule, and how to apply it."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    found = find_anchor(kernel, lambda s: not isinstance(_read(_plain(Anchored(s, None))[0]), Declined))
    if found is None:
        return Declined("no stage is a convolution with stride 1")
    is_apart = _plain(found)[1] is not None
    bordered, found = _with_border(kernel, found)
    plain, border = _plain(found)
    conv = _read(plain)
    assert not isinstance(conv, Declined)
    if conv.rows is None and conv.terms <= FEW_TERMS:
        return Declined("few terms for each channel: the general rule copies no border")
    shape = tile_shape(target, plain.stage.buffer.dtype)
    bands = None if border is None else bands_for(conv, target)
    task = choose_task(conv, shape, target.cpu, None if bands is None else bands.most)
    if task is None:
        return Declined("fewer points than a vector has lanes")
    steps = count(conv.outer) * steps_of(conv, task, shape)
    if border is not None:
        axes = border.stage.spatial
        lines, points = count(axes[:-1]), count(axes[-1:])
        if is_apart:  # else other ways copy it as well
            stepping = len(axes) > len(border.stage.loads[0].indices)
            steps += copying(lines, points, stepping, shape.lanes)
        if bands is not None and has_bands(conv, task, target):
            steps *= bands.waiting(task.lines)
        elif target.num_cores > 1:
            steps += passing(lines, points, shape.lanes)
    return Plan(steps, partial(_scheduled, bordered, found, task, target))


def _scheduled(kernel: Kernel, found: Anchored, task: Task, target: Target) -> PrimFunc:
    plain, border = _plain(found)
    conv = _read(plain)
    assert not isinstance(conv, Declined)
    shape = tile_shape(target, conv.data.dtype)
    kernel, body = emit_with_border(kernel, conv, task, border, shape, target)
    return kernel.rebuilt(surrounded(kernel, found, body, target))


def _with_border(kernel: Kernel, found: Anchored) -> tuple[Kernel, Anchored]:
    """The kernel with a padding stage made part of the convolution, whose input is then copied once, by bands; as it
    was where that has no border that is known.
    """
    smaller, inside = with_border_inside(kernel, found.stage)
    both = find_anchor(smaller, lambda s: s is inside)
    if both is None or isinstance(_read(_plain(both)[0]), Declined):
        return kernel, found
    return smaller, both


def _plain(found: Anchored) -> tuple[Anchored, Border | None]:
    """A convolution in groups as one over groups, and what makes its input ready for stride 1."""
    if groups_of(found.stage) is not None:
        found = by_group(found)
    apart = border_apart(found.stage)
    return (found, None) if apart is None else (replace(found, stage=apart[1]), apart[0])


def _read(anchored: Anchored) -> UnpackedConv | Declined:
    stage = anchored.stage
    if stage.combiner is not tir.Add or not stage.reduce or not isinstance(stage.value, tir.Mul):
        return Declined("not a sum of products")
    if not stage.buffer.dtype.is_float or stage.buffer.dtype.bits < 32:
        return Declined("no sum of floats")
    for weight, data in ((stage.value.a, stage.value.b), (stage.value.b, stage.value.a)):
        if not (isinstance(weight, tir.BufferLoad) and isinstance(data, tir.BufferLoad)):
            return Declined("a factor is computed or converted")
        if weight.buffer.strides or data.buffer.strides:
            continue
        points = _points(stage, weight, data)
        if not points or any(step(load, a) is None for load in (weight, data) for a in stage.spatial):
            continue
        lead = stage.spatial[: len(stage.spatial) - len(points)]
        rows = [a for a in lead if depends(weight, a.var) and not depends(data, a.var)]
        if len(rows) > 1 or any(a.size is None or known_step(weight, a) is None for a in rows):
            continue
        lines, row, pitch = points[-2] if len(points) > 1 else None, rows[0] if rows else None, data.buffer.shape[-1]
        assert isinstance(pitch, tir.IntImm)
        outer = (*(a for a in lead if a not in rows), *points[:-2])
        return UnpackedConv(
            outer,
            row,
            lines,
            points[-1],
            pitch.value,
            data,
            weight,
            stage.reduce,
            _terms(stage),
            ops.const(0, data.dtype) if stage.init is None else stage.init,
            partial(_written, anchored),
        )
    return Declined("no factor is an input that neighbouring points see as neighbours")


def _terms(stage: Stage) -> int:
    """The terms of a sum, an axis of unknown extent counting as many."""
    return prod(64 if a.size is None else a.size for a in stage.reduce)


def _points(stage: Stage, weight: tir.BufferLoad, data: tir.BufferLoad) -> tuple[Axis, ...]:
    """The last spatial axes, as far as they index the last dims of the data with step 1, under windows."""
    found: list[Axis] = []
    windows = False
    for index, dim, axis in zip(reversed(data.indices), reversed(data.buffer.shape), reversed(stage.spatial)):
        if depends(weight, axis.var) or axis.size is None or not isinstance(dim, tir.IntImm):
            break
        if coefficient(index, axis.var) != 1 or any(depends(index, a.var) for a in stage.spatial if a is not axis):
            break
        if sum(depends(i, axis.var) for i in data.indices) != 1:
            break
        found.insert(0, axis)
        windows = windows or any(depends(index, a.var) for a in stage.reduce)
    return tuple(found) if windows else ()  # without windows it is a product of matrices


def _written(anchored: Anchored, conv: UnpackedConv, done: Finished) -> st.Stmt:
    """The lines of a task through the epilogue."""
    r, n, u = index_var("r"), index_var("line"), index_var("u")
    at = ops.add(ops.add(done.sums.row(i64(0), r), ops.multiply(n, i64(conv.pitch))), u)
    places: dict[tir.Var, PrimExpr] = {conv.columns.var: u}
    if conv.lines is not None:
        places[conv.lines.var] = ops.add(done.line, n)
    if conv.rows is not None:
        places[conv.rows.var] = ops.add(done.row, r)
    store = anchored.store(tir.BufferLoad(done.sums.buffer, (at,)), places)
    return loop(r, done.task.rows, loop(n, done.task.lines, loop(u, conv.sizes[2], store, VECTORIZED)))
