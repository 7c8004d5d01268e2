"""The parts of a depthwise convolution over lines (channels first): its windows, its input line by line, its weight."""

from __future__ import annotations

from functools import cached_property
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.blocked.parts import without_single
from baton._src.lower.kernel_schedules.convolution.conv_groups import by_group, groups_of
from baton._src.lower.kernel_schedules.convolution.conv_window import Window, read_windows, with_border_inside
from baton._src.lower.kernel_schedules.convolution.lines.line_pieces import LineSource
from baton._src.lower.kernel_schedules.products.tiles import tile_shape
from baton._src.lower.kernel_schedules.shared.affine import depends, step
from baton._src.lower.kernel_schedules.shared.anchors import Anchored, find_anchor
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Stage
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops

MOST_TAPS = 64
"""Lines of a window; the weights of more than about a dozen are loaded again for each sum, which costs little."""
MOST_STRIDE = 4
"""Steps up to which lines are taken apart by shuffles."""
MOST_SHARED = 2
"""Channels of the result that may pack the same channel of the input, each for itself."""


@dataclass(frozen=True, eq=False)
class Depthwise:
    """The parts of such a convolution; `line` is the index of a line of the input in `source`."""

    anchored: Anchored
    origin: Anchored
    """The stages this replaces, as the kernel has them."""
    rows: Window
    columns: Window
    source: LineSource
    line: tir.Var
    weight: tir.BufferLoad

    @property
    def outer(self) -> tuple[Axis, ...]:
        return self.anchored.stage.spatial[:-2]

    @cached_property
    def init(self) -> PrimExpr:
        stage = self.anchored.stage
        return ops.const(0, stage.buffer.dtype) if stage.init is None else stage.init


def find_depthwise(kernel: Kernel, target: Target) -> tuple[Kernel, Depthwise] | None:
    """The kernel with the border inside such a convolution, and its parts."""
    for stage in kernel.stages:
        if isinstance(stage, Stage) and _is_sum(stage):
            smaller, inside = with_border_inside(kernel, stage)
            conv = _read(smaller, inside, target)
            if conv is not None:
                return smaller, conv
    return None


def _is_sum(stage: Stage) -> bool:
    """Whether a stage could be such a convolution."""
    if stage.combiner is not tir.Add or len(stage.spatial) < 3 or not isinstance(stage.value, tir.Mul):
        return False
    return stage.buffer.dtype.is_float and stage.buffer.dtype.bits >= 32 and not stage.buffer.strides


def _read(kernel: Kernel, stage: Stage, target: Target) -> Depthwise | None:
    origin = find_anchor(kernel, lambda s: s is stage)
    assert origin is not None
    anchored = Anchored(without_single(stage), origin.epilogue)
    if groups_of(anchored.stage) is not None:
        anchored = by_group(anchored)
    plain = anchored.stage
    assert isinstance(plain.value, tir.Mul)
    for data, weight in ((plain.value.a, plain.value.b), (plain.value.b, plain.value.a)):
        seen = read_windows(plain, data, plain.spatial[-2:])
        if seen is None or not isinstance(weight, tir.BufferLoad):
            continue
        load, (rows, columns) = seen
        if not (_windows_fit(plain, rows, columns) and _loads_fit(plain, load, weight)):
            continue
        place = next(n for n, index in enumerate(load.indices) if depends(index, rows.axis.var))
        if place == len(load.indices) - 1 or depends(load.indices[place], columns.axis.var):
            continue
        line = tir.Var("line", load.indices[place].dtype)
        indices = (*load.indices[:place], line, *load.indices[place + 1 :])
        source = LineSource(columns, tir.BufferLoad(load.buffer, indices), tile_shape(target, load.dtype).lanes)
        return Depthwise(anchored, origin, rows, columns, source, line, weight)
    return None


def _windows_fit(stage: Stage, rows: Window, columns: Window) -> bool:
    if rows.tap is None or columns.tap is None or set(stage.reduce) != {rows.tap, columns.tap}:
        return False
    if rows.axis.size is None or columns.axis.size is None:
        return False
    return rows.taps <= MOST_TAPS and columns.stride <= MOST_STRIDE


def _loads_fit(stage: Stage, data: tir.BufferLoad, weight: tir.BufferLoad) -> bool:
    """Whether lines are contiguous, nothing is converted and channels (nearly) have an input of their own."""
    if data.buffer.strides or weight.buffer.strides or not data.dtype == weight.dtype == stage.buffer.dtype:
        return False
    columns = stage.spatial[-1].var
    if not depends(data.indices[-1], columns) or any(depends(i, columns) for i in data.indices[:-1]):
        return False
    if any(depends(weight, a.var) for a in stage.spatial[-2:]) or any(step(weight, a) is None for a in stage.reduce):
        return False
    return prod(a.size or 1 << 20 for a in stage.spatial[:-2] if not depends(data, a.var)) <= MOST_SHARED
