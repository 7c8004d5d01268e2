"""Blocked convolutions of one tap with strides see a part of the points: these are first copied side by side.

    P[.., h, w, i] = X[.., h*s, w*s, i]

Then the points are one long row, which register tiles divide evenly, whatever the length of the map's rows; and of the
cache lines of other points, nothing is loaded again for each group of output channels. With AVX2, 1024 to 2048 channels
of 7 x 7 points take 0.77 of the time, 256 to 512 of 28 x 28 points 0.82. With AVX-512, where a point of a block fills a
cache line and tiles are twice as long, they gain nothing (Zen 4).
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv, conv_of
from baton._src.lower.kernel_schedules.convolution.conv_window import Window
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.loops import index_var
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir.buffer import decl_buffer

FEWEST_CHANNELS = 256
"""Output channels for which the points are multiplied, at least."""


def with_points_copied(kernel: Kernel, conv: BlockedConv, target: Target) -> tuple[Kernel, BlockedConv]:
    """The kernel and its convolution with the copy, where that is worthwhile; else as they are."""
    rows, columns, load, reader = conv.rows, conv.columns, conv.data, conv.origin.stage
    if target.vector_bits != 256 or (conv.blocks.size or 0) * conv.width < FEWEST_CHANNELS:
        return kernel, conv
    if rows is None or conv.is_depthwise:
        return kernel, conv
    if rows.taps * columns.taps > 1 or rows.stride * columns.stride == 1 or not (rows.whole and columns.whole):
        return kernel, conv
    axes, seen = [], []
    for index, dim in zip(load.indices, load.buffer.shape):
        window = next((w for w in (rows, columns) if depends(index, w.axis.var)), None)
        axis = Axis(index_var("p"), as_int64(dim if window is None else window.axis.extent))
        axes.append(axis)
        seen.append(axis.var if window is None else substitute_and_fold(index, {window.axis.var: axis.var}))
    points = decl_buffer([a.extent for a in axes], load.buffer.dtype, "points")
    copied = Stage(points, tuple(axes), tir.BufferLoad(load.buffer, tuple(seen)))
    into = tuple(_place(index, (rows, columns)) for index in load.indices)
    value = rewrite(reader.value, lambda node: tir.BufferLoad(points, into) if node is load else None)
    changed = replace(reader, value=value)
    stages = tuple(changed if s is reader else s for s in kernel.stages)
    kernel_with = replace(kernel, stages=stages).with_stage(copied, changed)
    found = conv_of(kernel_with, changed)
    return (kernel, conv) if isinstance(found, Declined) else (kernel_with, found)


def _place(index: PrimExpr, windows: tuple[Window, Window]) -> PrimExpr:
    """Where the copy has what was at `index`."""
    return next((w.axis.var for w in windows if depends(index, w.axis.var)), index)
