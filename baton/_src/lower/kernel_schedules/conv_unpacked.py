"""Convolutions with stride 1, read where the input lies: nothing is packed.

    Y[n, o, h, w] = sum over c, kh, kw of X[n, c, h + kh, w + kw] * W[o, c, kh, kw]          (X with its border)

With stride 1, what neighbouring points see through a tap are neighbours in memory, even from the end of one line to
the beginning of the next if the points between, which only the border would see, are computed as well. A task is a
block of lines for a tile of channels: its points are cut into runs of a few vectors whose sums stay in registers
while channels and taps run, loads of X being loads of vectors and weights broadcasts. The sums go to a scratch that
stays in the first-level cache, from where whole lines leave through the epilogue, without the points between.

That covers depthwise convolutions (one channel a tile), groups of few channels and results of few channels, over any
number of spatial axes and with dilation. With many channels packing is paid for: `conv2d` then has what would compute
many points between the lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.affine import depends, step
from baton._src.lower.kernel_schedules.anchors import Anchored, find_anchor, surrounded
from baton._src.lower.kernel_schedules.conv_border import border_apart
from baton._src.lower.kernel_schedules.conv_groups import by_group, groups_of
from baton._src.lower.kernel_schedules.conv_window import linear
from baton._src.lower.kernel_schedules.inline import inline_elementwise
from baton._src.lower.kernel_schedules.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    parallel_rows,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.rows import emit_stages
from baton._src.lower.kernel_schedules.stages import Axis, Declined, Stage, read_kernel
from baton._src.lower.kernel_schedules.tiles import Accumulators, TileShape, tile_shape
from baton._src.passes.tir.flatten_buffers import element_count, flat_index
from baton._src.passes.tir.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

FEW_TERMS = 9
"""Terms of a sum up to which the general rule is faster: it copies no border."""
MOST_WASTE, WASTE_OF_ONE = 1.05, 8.0
"""Points computed for each one wanted, beyond which packing is cheaper; with one output channel so many more."""
MOST_VECTORS = 8
"""Vectors of a run of points: enough independent sums for one channel alone."""
SCRATCH = 1 << 12
"""Elements of the scratch of a task: half a first-level cache."""
CROSSING = 1.5
"""Time of a load of the input in multiply-adds: many of them lie across two lines of the cache."""


@dataclass(frozen=True, eq=False)
class UnpackedConv:
    """The parts of such a convolution: points are `lines` (None: there is one) of `columns`, `pitch` elements of the
    input apart; `rows` is the axis of output channels, None where each has an input channel of its own.
    """

    anchored: Anchored
    outer: tuple[Axis, ...]
    rows: Axis | None
    lines: Axis | None
    columns: Axis
    pitch: int
    data: tir.BufferLoad
    weight: tir.BufferLoad

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many output channels, lines and columns there are."""
        rows, lines, columns = (1 if a is None else a.size or 0 for a in (self.rows, self.lines, self.columns))
        return rows, lines, columns

    def extent(self, lines: int) -> int:
        """The points of so many lines and between them."""
        return (lines - 1) * self.pitch + self.sizes[2]


@dataclass(frozen=True)
class Task:
    """`rows` output channels of `lines` lines, in runs of `vectors` vectors over all their points."""

    rows: int
    lines: int
    vectors: int


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    found = find_anchor(kernel, lambda s: not isinstance(_read(_plain(Anchored(s, None))[0]), Declined))
    if found is None:
        return Declined("no stage is a convolution with stride 1")
    plain, border = _plain(found)
    conv = _read(plain)
    assert not isinstance(conv, Declined)
    shape = tile_shape(target, conv.anchored.stage.buffer.dtype)
    task = choose_task(conv, shape)
    if task is None:
        return Declined("fewer points than a vector has lanes")
    if _waste(conv, task, shape) > MOST_WASTE + WASTE_OF_ONE / conv.sizes[0]:
        return Declined("too many points between the lines for so many output channels")
    body = _emit(conv, task, shape, target)
    if border is not None:
        kernel = replace(kernel, local=(*kernel.local, border.buffer))
        body = sequence(emit_stages(kernel, [border], target), body)
    return kernel.rebuilt(surrounded(kernel, found, body, target))


def _plain(found: Anchored) -> tuple[Anchored, Stage | None]:
    """A convolution in groups as one over groups, and a border that fusion has put into its sum as a stage."""
    if groups_of(found.stage) is not None:
        found = by_group(found)
    apart = border_apart(found.stage)
    return (found, None) if apart is None else (replace(found, stage=apart[1]), apart[0])


def _read(anchored: Anchored) -> UnpackedConv | Declined:
    stage = anchored.stage
    if stage.combiner is not tir.Add or not stage.reduce or not isinstance(stage.value, tir.Mul):
        return Declined("not a sum of products")
    if not stage.buffer.dtype.is_float or stage.buffer.dtype.bits < 32 or _terms(stage) <= FEW_TERMS:
        return Declined("no sum of many floats")
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
        if len(rows) > 1 or any(a.size is None for a in rows):
            continue
        lines, row, pitch = points[-2] if len(points) > 1 else None, rows[0] if rows else None, data.buffer.shape[-1]
        assert isinstance(pitch, tir.IntImm)
        outer = (*(a for a in lead if a not in rows), *points[:-2])
        return UnpackedConv(anchored, outer, row, lines, points[-1], pitch.value, data, weight)
    return Declined("no factor is an input that neighbouring points see as neighbours")


def _terms(stage: Stage) -> int:
    """The terms of a sum, an axis of unknown extent counting as many."""
    return prod(64 if a.size is None else a.size for a in stage.reduce)


def _points(stage: Stage, weight: tir.BufferLoad, data: tir.BufferLoad) -> tuple[Axis, ...]:
    """The last spatial axes, as far as they are places with step 1 on the last dims of the data, under windows."""
    axes = (*stage.spatial, *stage.reduce)
    found: list[Axis] = []
    windows = False
    for index, dim, axis in zip(reversed(data.indices), reversed(data.buffer.shape), reversed(stage.spatial)):
        place = linear(index, axes)
        if place is None or depends(weight, axis.var) or axis.size is None or not isinstance(dim, tir.IntImm):
            break
        if place[0].get(axis.var) != 1 or any(a.var in place[0] for a in stage.spatial if a is not axis):
            break
        if sum(depends(i, axis.var) for i in data.indices) != 1:
            break
        found.insert(0, axis)
        windows = windows or any(a.var in place[0] for a in stage.reduce)
    return tuple(found) if windows else ()  # without windows it is a product of matrices


# ----------------------------------------------------------------------------------------------------- tiling


def choose_task(conv: UnpackedConv, shape: TileShape) -> Task | None:
    """The task that takes the fewest steps; None where there is no whole vector of points."""
    rows, lines, _ = conv.sizes
    tall = -(-rows // -(-rows // shape.rows))
    best: tuple[float, Task] | None = None
    for count in range(1, lines + 1):
        extent = conv.extent(count)
        if count > 1 and tall * _padded(extent, shape.lanes) > SCRATCH:
            break
        for vectors in range(1, min(MOST_VECTORS, extent // shape.lanes) + 1):
            if tall not in shape.heights(vectors):
                break
            task = Task(tall, count, vectors)
            cost = sum(times * _cost(conv, task, part, shape) for times, part in _parts(lines, count))
            if best is None or cost < best[0]:
                best = (cost, task)
    return None if best is None else best[1]


def _parts(size: int, part: int) -> list[tuple[int, int]]:
    """How often `part` goes into `size`, and what is left."""
    whole = [(size // part, part)]
    return whole if size % part == 0 else [*whole, (1, size % part)]


def _cost(conv: UnpackedConv, task: Task, lines: int, shape: TileShape) -> float:
    """Steps of a task of so many lines: each run's multiply-adds or loads, and what starting it costs."""
    runs = -(-conv.extent(lines) // (task.vectors * shape.lanes))
    work = max(task.rows * task.vectors, CROSSING * task.vectors + 0.5 * task.rows, 4.0)
    each = _terms(conv.anchored.stage) * (work + 1) + 2 * task.rows * task.vectors + 10
    return runs * each + 10 + 2.0 * task.rows * lines


def _waste(conv: UnpackedConv, task: Task, shape: TileShape) -> float:
    """How many points are computed for each one that is wanted."""
    _, lines, columns = conv.sizes
    computed = sum(n * _padded(conv.extent(part), shape.lanes) for n, part in _parts(lines, task.lines))
    return computed / (lines * columns)


def _padded(extent: int, lanes: int) -> int:
    return -(-extent // lanes) * lanes


# ------------------------------------------------------------------------------------------------------ loops


def _emit(conv: UnpackedConv, task: Task, shape: TileShape, target: Target) -> st.Stmt:
    rows, lines, _ = conv.sizes
    block, tile = index_var("block"), index_var("tile")
    line, row = ops.multiply(block, i64(task.lines)), ops.multiply(tile, i64(task.rows))

    def of_rows(count: int) -> st.Stmt:
        return _cut(block, lines, task.lines, lambda n: _task(conv, Task(count, n, task.vectors), row, line, shape))

    body = _cut(tile, rows, task.rows, of_rows)
    axes = (*conv.outer, Axis(block, i64(-(-lines // task.lines))), Axis(tile, i64(-(-rows // task.rows))))
    steps = -(-conv.extent(task.lines) // shape.lanes) * task.rows
    work = ops.multiply(product([a.extent for a in conv.anchored.stage.reduce]), i64(steps))
    return parallel_rows(axes, work, body, target.num_cores)


def _cut(which: tir.Var, size: int, part: int, body: Callable[[int], st.Stmt]) -> st.Stmt:
    """`body` of a part's size, which is smaller at the end where `part` does not divide `size`."""
    full = body(min(part, size))
    if size % part == 0:
        return full
    return st.IfThenElse(tir.LT(which, i64(size // part)), full, body(size % part))


def _task(conv: UnpackedConv, task: Task, row: PrimExpr, line: PrimExpr, shape: TileShape) -> st.Stmt:
    """All runs of a task into the scratch, then its lines out of it."""
    extent = conv.extent(task.lines)
    pitch = _padded(extent, shape.lanes)
    scratch = local_buffer("sums", (task.rows * pitch,), conv.anchored.stage.buffer.dtype)
    parts: list[st.Stmt] = []
    width = min(task.vectors, extent // shape.lanes) * shape.lanes
    if width:
        run = index_var("run")
        start = ops.multiply(run, i64(width))
        runs = _run(conv, task.rows, width, _Place(row, line, start), scratch, pitch)
        parts.append(loop(run, extent // width, runs))
    rest = extent % width if width else extent
    if rest:
        # The last run begins early enough to end with the points: what two runs compute is the same.
        last = min(_padded(rest, shape.lanes), extent)
        parts.append(_run(conv, task.rows, last, _Place(row, line, i64(extent - last)), scratch, pitch))
    return allocated(scratch, sequence(*parts, _written(conv, task, row, line, scratch, pitch)))


def _written(conv: UnpackedConv, task: Task, row: PrimExpr, line: PrimExpr, scratch: Buffer, pitch: int) -> st.Stmt:
    """The lines of a task through the epilogue."""
    r, n, u = index_var("r"), index_var("line"), index_var("u")
    at = ops.add(ops.add(ops.multiply(r, i64(pitch)), ops.multiply(n, i64(conv.pitch))), u)
    places: dict[tir.Var, PrimExpr] = {conv.columns.var: u}
    if conv.lines is not None:
        places[conv.lines.var] = ops.add(line, n)
    if conv.rows is not None:
        places[conv.rows.var] = ops.add(row, r)
    store = conv.anchored.store(tir.BufferLoad(scratch, (at,)), places)
    return loop(r, task.rows, loop(n, task.lines, loop(u, conv.sizes[2], store, VECTORIZED)))


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a run is: its first output channel, the first line of its task, and the first of the task's points."""

    row: PrimExpr
    line: PrimExpr
    start: PrimExpr


def _run(conv: UnpackedConv, rows: int, width: int, place: _Place, scratch: Buffer, pitch: int) -> st.Stmt:
    """The sums of `width` points for `rows` output channels, into the scratch."""
    stage = conv.anchored.stage
    init = stage.init
    assert init is not None
    acc = Accumulators.of(rows, width, stage.buffer.dtype)
    # Axes of the loops get fresh variables: other runs have the same loops.
    own = {a.var: tir.Var(a.var.name, a.var.dtype) for a in stage.reduce}
    where: dict[tir.Var, PrimExpr] = {**own, conv.columns.var: tir.IntImm(conv.columns.var.dtype, 0)}
    for axis, at in ((conv.lines, place.line), (conv.rows, place.row)):
        if axis is not None:
            where[axis.var] = ops.cast(axis.var.dtype, at)
    data, weight = _flat(conv.data.buffer), _flat(conv.weight.buffer)
    first, taps = index_var("first"), index_var("taps")
    far = 0 if conv.rows is None else step(conv.weight, conv.rows) or 0

    def term(number: int, lane: tir.Var) -> PrimExpr:
        left = tir.BufferLoad(weight, (ops.add(taps, i64(number * far)),))
        return tir.Add(acc.load(number, lane), tir.Mul(left, tir.BufferLoad(data, (ops.add(first, lane),))))

    seen = ops.add(substitute_and_fold(flat_index(conv.data.buffer, conv.data.indices), where), place.start)
    through = substitute_and_fold(flat_index(conv.weight.buffer, conv.weight.indices), where)
    update = st.LetStmt(first, seen, st.LetStmt(taps, through, acc.each(term)))
    sums = nest([Axis(own[a.var], a.extent) for a in stage.reduce], update)
    kept = [_kept(acc, n, scratch, ops.add(i64(n * pitch), place.start)) for n in range(rows)]
    return allocated(acc.buffer, sequence(acc.each(lambda number, lane: init), sums, *kept))


def _kept(acc: Accumulators, row: int, scratch: Buffer, at: PrimExpr) -> st.Stmt:
    lane = index_var("v")
    return loop(lane, acc.width, st.BufferStore(scratch, acc.load(row, lane), (ops.add(at, lane),)), VECTORIZED)


def _flat(buffer: Buffer) -> Buffer:
    return Buffer(buffer.data, buffer.dtype, (element_count(buffer),), name=buffer.name)
