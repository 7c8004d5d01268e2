"""A convolution's input with its border, copied a band at a time: what is read next stays in a core's own cache.

    P[n, c, f, q] = X with its border, by phases          tasks: for n, g, block, tile: sums over P[n, g * C + c, ..]
->
    for n, g, band in parallel:
        P'[c, f, q] = the part of P that this group and band see
        for block of the band, tile: sums over P'[c, ..]

A copy of all of P goes to memory and comes back: strided convolutions in groups, which multiply little, took twice as
long. Groups and images see parts of their own; bands of lines share the lines between them, which both copy.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.conv_border import Border
from baton._src.lower.kernel_schedules.convolution.conv_window import bordered, linear
from baton._src.lower.kernel_schedules.convolution.lines.line_pieces import LineSource, Planes, copied_line, pieces_of
from baton._src.lower.kernel_schedules.convolution.unpacked.runs import emit_tasks, one_task, task_axes, work_of
from baton._src.lower.kernel_schedules.convolution.unpacked.tasks import Bands, Task, UnpackedConv
from baton._src.lower.kernel_schedules.products.tiles import TileShape
from baton._src.lower.kernel_schedules.rows import emit_stages
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    constant,
    i64,
    index_var,
    local_buffer,
    loop,
    named,
    nest,
    parallel_rows,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel
from baton._src.passes.tir.lowering.flatten_buffers import flat_buffer, flat_index
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

SHARE_OF_CACHE = 2
"""A band takes at most the second-level cache divided by this: weights and results pass through it as well."""
MOST_TWICE = 2
"""Lines of a band for each that its neighbour copies, too, at least."""
MOST_VECTORS = 8
"""Vectors of a line that are copied by code of their own."""
BANDS_A_THREAD = (4, 3, 2, 1)
"""Bands that balance the threads; if not so many are high enough, as many as are. With none, all of the input is copied
first, half of which each of two threads then reads from where the other wrote it.
"""


@dataclass(frozen=True, eq=False)
class _Dim:
    """A dim of the input: a band has `extent` of it from `base` on, and `index` is counted from there."""

    base: PrimExpr
    extent: int
    index: PrimExpr


def emit_with_border(
    kernel: Kernel, conv: UnpackedConv, task: Task, border: Border | None, shape: TileShape, target: Target
) -> tuple[Kernel, st.Stmt]:
    """All tasks, and the copy of the input with its border (None: it has none) by bands or as a whole; in the latter
    case the kernel has the copy as a buffer of its own.
    """
    body = None if border is None else emit_in_bands(conv, task, border, shape, target)
    if body is not None:
        return kernel, body
    body = emit_tasks(conv, task, shape, target)
    if border is None:
        return kernel, body
    kernel = replace(kernel, local=(*kernel.local, border.stage.buffer))
    return kernel, sequence(emit_stages(kernel, [border.stage], target), body)


def emit_in_bands(conv: UnpackedConv, task: Task, border: Border, shape: TileShape, target: Target) -> st.Stmt | None:
    """All tasks, each band with its copy; None where the whole input is copied as well, or better."""
    axes = _apart(conv)
    blocks, tiles = task_axes(conv, task)
    each = _blocks_of_band(conv, task, target)
    if each is None or (_count(axes) == 1 and each == blocks.size):
        return None
    band = Axis(index_var("band"), i64(-(-(blocks.size or 1) // each)))
    first = ops.multiply(band.var, i64(each))
    dims = _dims(conv, axes, ops.multiply(first, i64(task.lines)), min(each * task.lines, conv.sizes[1]))
    buffer = local_buffer("bordered", _room(conv, dims, shape.lanes), conv.data.dtype)
    there = replace(
        conv,
        outer=tuple(a for a in conv.outer if a not in axes),
        data=tir.BufferLoad(buffer, tuple(d.index for d in dims)),
    )
    inside = index_var("inside")
    count = i64(each) if (blocks.size or 1) % each == 0 else ops.min(i64(each), ops.subtract(blocks.extent, first))
    body = st.LetStmt(blocks.var, ops.add(first, inside), one_task(there, task, shape, blocks.var, tiles.var))
    every = nest((*there.outer, Axis(inside, count), tiles), body)
    copied = _copied(border, dims, buffer, target)
    work = work_of(conv, task, shape) * each * (tiles.size or 1)
    return parallel_rows((*axes, band), work, allocated(buffer, sequence(copied, every)), target.num_cores)


def _own_part(conv: UnpackedConv, axis: Axis) -> tuple[int, int, int] | None:
    """(dim, step, reach) of an axis of which each point sees a part of the input that no other sees, along one dim:
    `reach` elements, at most `step` apart.
    """
    using = [n for n, index in enumerate(conv.data.indices) if depends(index, axis.var)]
    if len(using) != 1:
        return None
    every = (*conv.outer, *(a for a in (conv.lines, conv.columns) if a is not None), *conv.reduce, *conv.phases)
    found = linear(conv.data.indices[using[0]], every)
    if found is None:
        return None
    factors, offset = found
    reach = offset + 1
    for other in every:
        if other is not axis and (factor := factors.get(other.var, 0)):
            if other.size is None or factor < 0:
                return None
            reach += factor * (other.size - 1)
    return (using[0], factors[axis.var], reach) if offset >= 0 and reach <= factors[axis.var] else None


def bands_for(conv: UnpackedConv, target: Target) -> Bands | None:
    """Which blocks of lines are enough bands for the threads; None for one thread, or if there never are."""
    lines, threads, shared = conv.sizes[1], target.num_cores, _count(_apart(conv))
    for bands in BANDS_A_THREAD if threads > 1 else ():
        most = -(-lines // -(-bands * threads // shared))
        if most == lines or most >= MOST_TWICE * _between(conv):
            return Bands(lines, shared, threads, most)
    return None


def has_bands(conv: UnpackedConv, task: Task, target: Target) -> bool:
    """Whether threads copy what they see of the input themselves."""
    return _blocks_of_band(conv, task, target) is not None


def _apart(conv: UnpackedConv) -> tuple[Axis, ...]:
    """The axes of which each point sees a part of the input of its own."""
    return tuple(a for a in conv.outer if _own_part(conv, a) is not None)


def _count(axes: tuple[Axis, ...]) -> int:
    return prod(a.size or 1 for a in axes)


def _between(conv: UnpackedConv) -> int:
    """Lines that neighbouring bands both see."""
    place = _line_dim(conv)
    return 0 if place is None else _dims(conv, _apart(conv), i64(0), 1)[place].extent - 1


def _blocks_of_band(conv: UnpackedConv, task: Task, target: Target) -> int | None:
    """Blocks of lines of a band; None where bands would be too low, or too few for the threads."""
    lines, axes, between, threads = conv.sizes[1], _apart(conv), _between(conv), target.num_cores
    dims, place, shared = _dims(conv, axes, i64(0), 1), _line_dim(conv), _count(axes)
    line = prod(d.extent for n, d in enumerate(dims) if n != place) * conv.data.dtype.itemsize
    most = min(lines, target.cpu.l2_bytes // SHARE_OF_CACHE // line - between)
    blocks = -(-lines // task.lines)
    fitting = blocks if most >= lines else most // task.lines
    for number in BANDS_A_THREAD if threads > 1 else (1,):
        bands = -(-number * threads // shared) if threads > 1 else 1
        each = min(fitting, max(1, blocks // bands))
        if each == blocks or (each >= 1 and each * task.lines >= MOST_TWICE * between):
            bands = -(-blocks // each)
            return None if shared * bands < threads else -(-blocks // bands)
    return None


def _line_dim(conv: UnpackedConv) -> int | None:
    if conv.lines is None:
        return None
    var = conv.lines.var
    return next(n for n, index in enumerate(conv.data.indices) if depends(index, var))


def _dims(conv: UnpackedConv, axes: tuple[Axis, ...], line: PrimExpr, lines: int) -> list[_Dim]:
    """The dims of a band of so many lines from `line` on."""
    parts = {found[0]: (axis, found) for axis in axes if (found := _own_part(conv, axis)) is not None}
    at_line = _line_dim(conv)
    dims = []
    for place, (index, dim) in enumerate(zip(conv.data.indices, conv.data.buffer.shape)):
        if place in parts:
            axis, (_, step, reach) = parts[place]
            base = ops.multiply(axis.var, ops.const(step, axis.var.dtype))
            zero = ops.const(0, axis.var.dtype)
            dims.append(_Dim(base, reach, substitute_and_fold(index, {axis.var: zero})))
            continue
        size = constant(dim) or 1
        if place == at_line:
            base = ops.cast(index.dtype, line)
            dims.append(_Dim(base, size - conv.sizes[1] + lines, ops.subtract(index, base)))
        else:
            dims.append(_Dim(ops.const(0, index.dtype), size, index))
    return dims


def _room(conv: UnpackedConv, dims: list[_Dim], lanes: int) -> list[int]:
    """The extents of the copy, with a vector of room behind the last line of a plane."""
    extents, place = [d.extent for d in dims], _line_dim(conv)
    if place is None:
        extents[-1] += lanes
    else:
        extents[place] += -(-lanes // extents[-1])
    return extents


def _copied(border: Border, dims: list[_Dim], buffer: Buffer, target: Target) -> st.Stmt:
    """The part of the input that a band sees, line by line."""
    stage = border.stage
    axes = [
        Axis(tir.Var(a.var.name, a.var.dtype), ops.const(d.extent, a.var.dtype)) for a, d in zip(stage.spatial, dims)
    ]
    found = bordered(stage.at(tuple(ops.add(ops.cast(a.var.dtype, d.base), a.var) for a, d in zip(axes, dims))))
    assert found is not None
    conditions, load = found
    along = [axes[-1], *([] if border.phase is None else [axes[border.phase]])]
    begin = {a.var: ops.const(0, a.var.dtype) for a in along}
    inside: PrimExpr = tir.IntImm("bool", 1)
    for condition in conditions:
        if not any(depends(condition, a.var) for a in along):
            inside = ops.logical_and(inside, condition)
    lanes = target.lanes(buffer.dtype.bits)
    sizes = [constant(dim) or 1 for dim in buffer.shape]
    count = 1 if border.phase is None else sizes[border.phase]
    plane = 0 if border.phase is None else prod(sizes[border.phase + 1 :])
    slots = {phase: phase for phase in range(count)}
    planes = Planes(flat_buffer(buffer), dims[-1].extent + lanes, slots, plane)
    source = LineSource(border.columns, load, lanes)
    line = substitute_and_fold(flat_index(buffer, tuple(a.var for a in axes)), begin)

    def body(at: PrimExpr) -> st.Stmt:
        copied = _line(source, planes, at)
        if isinstance(inside, tir.IntImm):
            return copied
        return st.IfThenElse(inside, copied, _zeros(planes, at, dims[-1].extent))

    return nest([a for a in axes if a not in along], named("line", line, body))


def _line(source: LineSource, planes: Planes, line: PrimExpr) -> st.Stmt:
    """A line, in pieces, by phases."""
    parts = []
    for piece in pieces_of(source.window, MOST_VECTORS * source.lanes):
        number = index_var("piece")
        start = (
            ops.add(ops.multiply(number, i64(piece.points)), i64(piece.start))
            if piece.repeats > 1
            else i64(piece.start)
        )
        copied = copied_line(source, piece, planes, ops.add(line, start), start, {})
        parts.append(loop(number, piece.repeats, copied) if piece.repeats > 1 else copied)
    return sequence(*parts)


def _zeros(planes: Planes, line: PrimExpr, count: int) -> st.Stmt:
    """A line outside of the input."""
    zero = ops.const(0, planes.buffer.dtype)
    parts = []
    for phase in planes.slots:
        lane = index_var("v")
        store = st.BufferStore(planes.buffer, zero, (ops.add(planes.at(line, phase, 0), lane),))
        parts.append(loop(lane, count, store, VECTORIZED))
    return sequence(*parts)
