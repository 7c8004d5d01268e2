"""Convolutions (channels first, any number of spatial axes) as products of matrices, without building the second
matrix.

    Y[n, oc, p] = sum over k of W[oc, k] * X'[n, k, p]        p: output points in order;  k: (ic, kh, kw)

Rows are output channels, columns output points. A panel of X' (32 points, every k) is packed from the input just
before it is used and stays in the second-level cache while the tiles of `matmul` run down the output channels.
Packing copies line by line: the points of a panel are a few runs of neighbours, so with stride 1 it is vector loads;
strides gather. The border is not copied: a run that a tap sees only in part gets zeros around that part. Bias,
activation and residual are applied when a tile is written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan, by_panels, count
from baton._src.lower.kernel_schedules.convolution.conv_groups import by_group, groups_of
from baton._src.lower.kernel_schedules.convolution.conv_window import Window, bordered, read_windows, with_border_inside
from baton._src.lower.kernel_schedules.products.matmul import packed_product
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends, joined, merge_pair
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor, surrounded
from baton._src.lower.kernel_schedules.shared.factors import is_simple, load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
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
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.passes.tir.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

LONG_LINE = 64
"""Points of a line from which on the border is left out instead of copied."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """The rule; see the module."""
    found = plan(func, target)
    return found if isinstance(found, Declined) else found.make()


def plan(func: PrimFunc, target: Target) -> Plan | Declined:
    """What it takes, and how it is done."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    found = find_convolution(inline_elementwise(kernel))
    if isinstance(found, Declined):
        return found
    smaller, matrix = found

    def make() -> PrimFunc:
        return smaller.rebuilt(surrounded(smaller, matrix.origin, packed_product(matrix, target), target))

    shape = tile_shape(target, matrix.stage.buffer.dtype)
    terms, channels, points = (count((a,)) for a in (matrix.k, matrix.rows, matrix.columns))
    stage = matrix.origin.stage
    line = stage.spatial[-1].size or points
    return Plan(by_panels(count(matrix.batch), terms, channels, points, line, _is_stepping(stage), shape), make)


def _is_stepping(stage: Stage) -> bool:
    """Whether neighbouring points see what are no neighbours."""
    last = stage.spatial[-1].var
    return any(coefficient(index, last) not in (0, 1) for load in stage.loads for index in load.indices)


def find_convolution(kernel: Kernel) -> tuple[Kernel, Product] | Declined:
    """The first convolution as a product, and the kernel without what packing its panels makes superfluous."""
    found = find_anchor(kernel, lambda s: not isinstance(roles_of(s), Declined))
    if found is None:
        found = find_anchor(kernel, lambda s: groups_of(s) is not None)
        if found is None:
            return Declined("no stage is a convolution with channels first")
        plain, windows = _bare(by_group(found))
        matrix = _as_product(plain, windows, origin=found)
    else:
        kernel, found, windows = _without_border(kernel, found)
        matrix = _as_product(found, windows)
    return matrix if isinstance(matrix, Declined) else (kernel, matrix)


def roles_of(stage: Stage) -> tuple[Axis, tuple[Axis, ...], PrimExpr, PrimExpr] | Declined:
    """(output channel, output axes, weight, input) of a convolution."""
    if stage.combiner is not tir.Add or len(stage.reduce) < 2 or not isinstance(stage.value, tir.Mul):
        return Declined("not a sum of products over channels and window")
    for weight, data in ((stage.value.a, stage.value.b), (stage.value.b, stage.value.a)):
        if not (is_simple(weight) and is_simple(data)):
            return Declined("a factor is computed, not loaded")
        indices = load_of(weight).indices
        window = tuple(a.var for a in stage.reduce)
        lead = len(indices) - len(window)
        channel = next((a for a in stage.spatial if a.var is indices[lead - 1]), None) if lead > 0 else None
        if channel is None or not all(i is v for i, v in zip(indices[lead:], window)):
            continue
        if lead > 2 or (lead == 2 and indices[0] is not stage.spatial[stage.spatial.index(channel) - 1].var):
            continue  # in front of the output channel there may only be its group
        place = stage.spatial.index(channel)
        points = stage.spatial[place + 1 :]
        if not points or depends(data, channel.var) or load_of(weight).buffer.strides:
            continue
        if all(depends(data, a.var) or a.size == 1 for a in (*points, *stage.reduce)):
            return channel, points, weight, data
    return Declined("no factor is a weight [out, in, window...] over the axes of the sum")


def _without_border(kernel: Kernel, found: Anchored) -> tuple[Kernel, Anchored, tuple[Window, ...]]:
    """The kernel without a padded copy of the input, and what the points see of it; no windows: it stays as it is."""
    roles = roles_of(found.stage)
    assert not isinstance(roles, Declined)
    _, points, weight, _ = roles
    smaller, stage = with_border_inside(kernel, found.stage)
    # On short lines nearly every run touches the border: there a copy costs less than being careful.
    if stage is found.stage or (points[-1].size or 0) < LONG_LINE:
        return kernel, found, ()
    value = stage.value
    assert isinstance(value, tir.Mul)
    data = value.b if is_simple(value.a) and structural_equal(value.a, weight) else value.a
    seen = read_windows(stage, data, points)
    if seen is None:
        return kernel, found, ()
    load, windows = seen
    plain = replace(stage, value=tir.Mul(weight, load))
    stages = tuple(plain if s is stage else s for s in smaller.stages)
    return replace(smaller, stages=stages), Anchored(plain, found.epilogue), tuple(windows)


def _bare(anchored: Anchored) -> tuple[Anchored, tuple[Window, ...]]:
    """A convolution whose input has its border already in the value, without that, and what the points see."""
    stage = anchored.stage
    assert isinstance(stage.value, tir.Mul)
    for data, weight in ((stage.value.a, stage.value.b), (stage.value.b, stage.value.a)):
        found = None if is_simple(data) else bordered(data)
        if found is None:
            continue
        plain = replace(stage, value=tir.Mul(found[1], weight))
        roles = roles_of(plain)
        seen = None if isinstance(roles, Declined) else read_windows(stage, data, roles[1])
        if seen is not None:
            return Anchored(plain, anchored.epilogue), tuple(seen[1])
    return anchored, ()


def _as_product(
    anchored: Anchored, windows: tuple[Window, ...] = (), origin: Anchored | None = None
) -> Product | Declined:
    stage = anchored.stage
    roles = roles_of(stage)
    if isinstance(roles, Declined):
        return roles
    channel, points, weight, data = roles
    merged = _merge_points(anchored, points)
    place = stage.spatial.index(channel)
    columns = Axis(tir.Var("p", points[-1].var.dtype), product([a.extent for a in points]))
    k = Axis(tir.Var("k", "int64"), product([a.extent for a in stage.reduce]))
    flat, indices = load_of(weight).buffer, load_of(weight).indices
    lead = len(indices) - len(stage.reduce)
    for _ in stage.reduce[1:]:
        flat = joined(flat, lead)
    left: PrimExpr = tir.BufferLoad(flat, (*indices[:lead], k.var))
    if weight.dtype != left.dtype:
        left = ops.cast(weight.dtype, left)
    buffer = stage.buffer
    for _ in points[1:]:
        buffer = joined(buffer, place + 1)
    spatial = (*stage.spatial[: place + 1], columns)
    seen = replace(stage, buffer=buffer, spatial=spatial)
    batch = stage.spatial[:place]

    def pack(panel: Buffer, start: PrimExpr, width: int) -> st.Stmt:
        return _pack(stage.reduce, points, data, panel, start, width, windows)

    epilogue = merged.epilogue if merged is not None else None
    whole = origin or anchored
    whole = Anchored(whole.stage, whole.epilogue if merged is not None else None)
    return Product(Anchored(seen, epilogue), batch, (), channel, columns, k, left, None, pack, whole)


def _merge_points(anchored: Anchored, points: tuple[Axis, ...]) -> Anchored | None:
    """The anchor with its epilogue over one axis of points; None if the epilogue treats them differently."""
    epilogue = anchored.epilogue
    if epilogue is None:
        return anchored
    for _ in points[1:]:
        found = merge_pair(epilogue, epilogue.spatial[-2], epilogue.spatial[-1])
        if found is None:
            return None
        epilogue = found
    return Anchored(anchored.stage, epilogue)


def _pack(
    window: tuple[Axis, ...],
    points: tuple[Axis, ...],
    data: PrimExpr,
    panel: Buffer,
    start: PrimExpr,
    width: int,
    seen: tuple[Window, ...],
) -> st.Stmt:
    """panel[k, v] = the input that output point start + v sees through k; zeros beyond the last point."""
    if is_simple(data) and load_of(data).dtype == panel.dtype:
        data = load_of(data)  # packed as it lies, whatever the product makes of it
    last = points[-1]
    length = as_int64(last.extent)
    total = product([a.extent for a in points])
    end = ops.min(ops.add(start, i64(width)), total)
    # Lines (runs of neighbouring points) that the panel touches.
    first_line = ops.floordiv(start, length)
    lines = ops.add(ops.subtract(ops.floordiv(ops.subtract(end, i64(1)), length), first_line), i64(1))
    line, u = index_var("line"), index_var("u")
    here = ops.add(first_line, line)
    line_start = ops.multiply(here, length)
    begin = ops.max(start, line_start)
    count = ops.subtract(ops.min(end, ops.add(line_start, length)), begin)
    fresh = {a.var: tir.Var(a.var.name, a.var.dtype) for a in window}
    k: PrimExpr = i64(0)
    for axis in window:
        k = ops.add(ops.multiply(k, as_int64(axis.extent)), as_int64(fresh[axis.var]))
    where: dict[tir.Var, PrimExpr] = dict(fresh)
    for axis, value in zip(points[:-1], split_index(here, [a.extent for a in points[:-1]])):
        where[axis.var] = ops.cast(axis.var.dtype, value)
    offset = ops.subtract(begin, line_start)
    where[last.var] = ops.cast(last.var.dtype, ops.add(offset, u))
    value = ops.cast(panel.dtype, substitute_and_fold(data, where))
    row = ops.multiply(k, i64(width))
    place = ops.add(row, ops.subtract(begin, start))

    def run(first: PrimExpr, number: PrimExpr, source: PrimExpr) -> st.Stmt:
        own = index_var("u")
        moved = substitute_and_fold(source, {u: ops.add(first, own)})
        store = st.BufferStore(panel, moved, (ops.add(ops.add(place, first), own),))
        return loop(own, number, store, VECTORIZED)

    def over_taps(body: st.Stmt, axes: Sequence[Axis] = window) -> st.Stmt:
        own = {fresh[a.var]: tir.Var(a.var.name, a.var.dtype) for a in axes}
        return nest([Axis(own[fresh[a.var]], a.extent) for a in axes], substitute_and_fold(body, own))

    every = run(i64(0), count, value)
    # Most runs are as wide as the panel: without a tail they take half as long.
    copy: st.Stmt = over_taps(run(i64(0), i64(width), value))
    copy = st.IfThenElse(tir.EQ(count, i64(width)), copy, over_taps(every))
    if seen:
        low, high = index_var("low"), index_var("high")
        zeros = run(i64(0), count, ops.const(0, panel.dtype))
        part = sequence(zeros, run(low, ops.subtract(high, low), value))
        whole = ops.logical_and(tir.LE(low, i64(0)), tir.GE(high, count))
        some: st.Stmt = st.IfThenElse(whole, every, part)
        if len(seen) > 1:
            some = st.IfThenElse(_lines_inside(seen[:-1], where), some, zeros)
        # The tap along the line outside: what it sees is worked out once.
        limits = _limits(seen[-1], where, offset, count)
        along = [a for a in window if seen[-1].tap is not None and a.var is seen[-1].tap.var]
        some = over_taps(some, [a for a in window if a not in along])
        some = over_taps(st.LetStmt(low, limits[0], st.LetStmt(high, limits[1], some)), along)
        copy = st.IfThenElse(_sees_all(seen, where, offset, count), copy, some)
    filled = loop(line, lines, copy)
    if isinstance(total, tir.IntImm) and total.value % width == 0:
        return filled
    return sequence(_zeros(window, panel, start, end, width), filled)


def _lines_inside(seen: Sequence[Window], where: dict[tir.Var, PrimExpr]) -> PrimExpr:
    """Whether the line that taps see lies inside, along all axes but the last."""
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
    """Whether every point of a run lies inside for all taps."""
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
    """How far a tap lies from the first one."""
    if window.tap is None:
        return i64(0)
    return ops.multiply(as_int64(where[window.tap.var]), i64(window.dilation))


def _zeros(window: tuple[Axis, ...], panel: Buffer, start: PrimExpr, end: PrimExpr, width: int) -> st.Stmt:
    """The last panel's columns beyond the end: harmless numbers instead of whatever memory holds."""
    k, v = index_var("k"), index_var("v")
    store = st.BufferStore(panel, ops.const(0, panel.dtype), (ops.add(ops.multiply(k, i64(width)), v),))
    fill = loop(k, product([a.extent for a in window]), loop(v, width, store, VECTORIZED))
    return st.IfThenElse(tir.LT(end, ops.add(start, i64(width))), fill)
