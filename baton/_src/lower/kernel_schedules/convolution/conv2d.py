"""Convolutions (channels first, any number of spatial axes) as products of matrices, without building the second
matrix.

    Y[n, oc, p] = sum over k of W[oc, k] * X'[n, k, p]        p: output points in order;  k: (ic, kh, kw)

Rows are output channels, columns output points. A panel of X' (32 points, every k) is packed from the input just before
it is used, and stays in L2 while the tiles of `matmul` run down the output channels. Packing copies line by line: the
points of a panel are a few runs of neighbours, so with stride 1 it uses vector loads, with other strides gathers. The
border is not copied: where a tap sees only part of a run, packing writes zeros around that part. Bias, activation and
residual are applied when a tile is written out. Points that would leave most of a panel empty are dot products instead
(`few_points`).
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.target import Target
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.convolution.conv_border import border_apart
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan, by_panels, count, in_place, passing
from baton._src.lower.kernel_schedules.convolution.conv_groups import by_group, groups_of
from baton._src.lower.kernel_schedules.convolution.conv_window import Window, bordered, read_windows, with_border_inside
from baton._src.lower.kernel_schedules.convolution.few_points import cost, few_points, most_points, seen_points
from baton._src.lower.kernel_schedules.convolution.packed_lines import pack_lines
from baton._src.lower.kernel_schedules.products.matmul import packed_product, product_loops
from baton._src.lower.kernel_schedules.products.products import Product, as_product
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends, joined, merge_pair, same
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor
from baton._src.lower.kernel_schedules.shared.factors import is_simple, load_of
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import i64, product
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.lower.kernel_schedules.surroundings import surrounded
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
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

    few = most_points(matrix, target)
    whole = None if few else _of_points_in_place(matrix, target)

    def make() -> PrimFunc:
        body = _emit(matrix, few, target) if whole is None else product_loops(whole, smaller, target)
        if isinstance(body, Declined):
            body = _emit(matrix, few, target)
        return smaller.rebuilt(surrounded(smaller, matrix.origin, body, target))

    if few and matrix.columns.size is not None:
        return Plan(cost(matrix, few, target), make)
    shape = tile_shape(target, matrix.stage.buffer.dtype)
    terms, channels, points = (count((a,)) for a in (matrix.k, matrix.rows, matrix.columns))
    stage = matrix.origin.stage
    if whole is not None:
        return Plan(in_place(count(matrix.batch), terms, channels, points, shape.lanes), make)
    line = stage.spatial[-1].size or points
    steps = by_panels(count(matrix.batch), terms, channels, points, line, _is_stepping(stage), shape)
    if target.num_cores > 1 and (copy := _border_of(smaller, stage)) is not None:
        steps += passing(count(copy.spatial[:-1]), count(copy.spatial[-1:]), shape.lanes)
    return Plan(steps, make)


def _border_of(kernel: Kernel, stage: Stage) -> Stage | None:
    """The stage that copies the input with its border."""
    copies = (s for s in kernel.stages if isinstance(s, Stage) and s.buffer in stage.reads and not s.reduce)
    return next(copies, None)


def _emit(matrix: Product, few: int, target: Target) -> st.Stmt:
    """Panels, dot products, or both of them where only a run tells whether there are `few` points."""
    if few and matrix.columns.size is not None:
        return few_points(matrix, few, target)
    panels = packed_product(matrix, target)
    if not few:
        return panels
    return st.IfThenElse(tir.LE(as_int64(matrix.columns.extent), i64(few)), few_points(matrix, few, target), panels)


def _of_points_in_place(matrix: Product, target: Target) -> Product | None:
    """The product of the weights and the input as it is, where each point sees one pixel, its own: panels are as wide
    as the points then, and the last points are dot products. Weights that the second-level cache does not hold would be
    read once more for those.
    """
    stage = matrix.origin.stage
    roles = roles_of(stage)
    if isinstance(roles, Declined) or matrix.columns.size is None or any(a.size != 1 for a in stage.reduce[1:]):
        return None
    channel, points, weight, data = roles
    load, first = load_of(data), {a.var: ops.const(0, a.var.dtype) for a in stage.reduce[1:]}
    indices = [substitute_and_fold(index, first) for index in load.indices]
    own = (*(a.var for a in matrix.batch), stage.reduce[0].var, *(a.var for a in points))
    sides = load.buffer.shape[len(load.indices) - len(points) :]
    if len(indices) != len(own) or any(i is not var for i, var in zip(indices, own)) or load.buffer.strides:
        return None
    size = count((channel, *stage.reduce)) * load_of(weight).buffer.dtype.itemsize
    if not all(same(side, a.extent) for side, a in zip(sides, points)) or size > target.cpu.l2_bytes:
        return None
    flat = load.buffer
    for _ in points[1:]:
        flat = joined(flat, len(own) - len(points))
    pixel = tir.BufferLoad(flat, (*(a.var for a in matrix.batch), matrix.k.var, matrix.columns.var))
    right: PrimExpr = rewrite(data, lambda node: pixel if isinstance(node, tir.BufferLoad) else None)
    plain = replace(matrix.stage, value=tir.Mul(matrix.left, right), reduce=(matrix.k,))
    found = as_product(Anchored(plain, matrix.anchored.epilogue))
    return None if isinstance(found, Declined) else found


def _is_stepping(stage: Stage) -> bool:
    """Whether neighbouring points read elements that are not neighbours."""
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
        apart = None if windows else border_apart(plain.stage, phases=False)
        if apart is not None:  # of an input of unknown extents
            kernel, plain = kernel.with_stage(apart[0].stage, found.stage), replace(plain, stage=apart[1])
        matrix = _as_product(plain, windows, origin=found)
    else:
        kernel, found, windows = _without_border(kernel, found)
        matrix = _as_product(found, windows)
    return matrix if isinstance(matrix, Declined) else (kernel, matrix)


def roles_of(stage: Stage) -> tuple[Axis, tuple[Axis, ...], PrimExpr, PrimExpr] | Declined:
    """(output channel, output axes, weight, input) of a convolution."""
    if stage.combiner is not tir.Add or len(stage.reduce) < 2 or not isinstance(stage.value, tir.Mul):
        return Declined("not a sum of products over channels and window")
    if stage.buffer.strides:
        return Declined("lines of the result do not lie side by side")
    for weight, data in ((stage.value.a, stage.value.b), (stage.value.b, stage.value.a)):
        if not (is_simple(weight) and is_simple(data)):
            return Declined("a factor is computed, not loaded")
        indices = load_of(weight).indices
        window = tuple(a.var for a in stage.reduce)
        lead = len(indices) - len(window)
        channel = next((a for a in stage.spatial if a.var is indices[lead - 1]), None) if lead > 0 else None
        if channel is None or not all(i is v for i, v in zip(indices[lead:], window)):
            continue
        dims = load_of(weight).buffer.shape[lead + 1 :]
        if not all(same(dim, a.extent) for dim, a in zip(dims, stage.reduce[1:])):
            continue  # part of a larger weight: what is summed over does not lie side by side
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
    whole_row = tir.BufferLoad(flat, (*indices[:lead], k.var))
    left: PrimExpr = rewrite(weight, lambda node: whole_row if isinstance(node, tir.BufferLoad) else None)
    buffer = stage.buffer
    for _ in points[1:]:
        buffer = joined(buffer, place + 1)
    spatial = (*stage.spatial[: place + 1], columns)
    seen = replace(stage, buffer=buffer, spatial=spatial)
    batch = stage.spatial[:place]

    def pack(panel: Buffer, start: PrimExpr, width: int) -> st.Stmt:
        return pack_lines(stage.reduce, points, data, panel, start, width, windows)

    def transposed(seen: Buffer) -> st.Stmt:
        return seen_points(stage.reduce, points, data, seen)

    epilogue = merged.epilogue if merged is not None else None
    whole = origin or anchored
    whole = Anchored(whole.stage, whole.epilogue if merged is not None else None)
    found = Product(Anchored(seen, epilogue), batch, (), channel, columns, k, left, None, pack, whole=whole)
    return found if windows else replace(found, transposed=transposed)


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
