"""Depthwise convolutions (channels first) over maps of open sizes, channel by channel from a copy with its border.

    for n, c:
        P[h, w] = if_then_else(0 <= h - b < height and 0 <= w - f < width, X[n, c, h - b, w - f], 0)
        Y[n, c, h, w] = sum over i, j of P[h * s + i * d, w * t + j * e] * W[c, i, j]

Where the border lies is only known in the run, so that the general rule would ask for it at each tap: a mask for each
vector, made of comparisons that take longer than the multiply-add. The copy is made once for all taps.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.conv_border import border_apart
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan, by_general_rule, count
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.rows import emit_stages
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.stages import Declined, Kernel, Stage, read_kernel
from baton._src.tir import expr as tir
from baton._src.tir.prim_func import PrimFunc


def plan(func: PrimFunc, target: Target) -> Plan | Declined:
    """The cost of this rule, and how to apply it."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    for stage in kernel.stages:
        apart = border_apart(stage, phases=False) if isinstance(stage, Stage) and _is_depthwise(stage) else None
        if apart is not None and isinstance(stage, Stage):
            points, lanes = stage.spatial[-1:], tile_shape(target, stage.buffer.dtype).lanes
            steps = by_general_rule(count(stage.spatial[:-1]), count(stage.reduce), count(points), False, lanes)
            bordered = kernel.with_stage(apart[0].stage, stage)
            stages = tuple(apart[1] if s is stage else s for s in bordered.stages)
            return Plan(steps, partial(_scheduled, replace(bordered, stages=stages), target))
    return Declined("no stage is a depthwise convolution with a border over a map of open size")


def _is_depthwise(stage: Stage) -> bool:
    """Whether each result sees a window of one channel; a map of known size is for others."""
    if stage.combiner is not tir.Add or not isinstance(stage.value, tir.Mul) or not stage.buffer.dtype.is_float:
        return False
    if not stage.spatial:  # a sum of squares
        return False
    reads = stage.loads
    weights = [load for load in reads if not depends_on_points(load, stage)]
    if len(reads) != 2 or len(weights) != 1:
        return False
    data = next(load for load in reads if load is not weights[0])
    lead = [a for a in stage.spatial if any(depends(index, a.var) for index in weights[0].indices)]
    own = all(any(depends(index, a.var) for index in data.indices) for a in lead)
    windows = all(a.size is not None and any(depends(i, a.var) for i in data.indices[2:]) for a in stage.reduce)
    return bool(lead) and own and windows and any(a.size is None for a in stage.spatial[len(lead) :])


def depends_on_points(load: tir.BufferLoad, stage: Stage) -> bool:
    return any(depends(index, stage.spatial[-1].var) for index in load.indices)


def _scheduled(kernel: Kernel, target: Target) -> PrimFunc:
    return kernel.rebuilt(emit_stages(kernel, kernel.stages, target))
