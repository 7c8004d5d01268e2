"""A convolution's input with its border in memory, where fusion has made the border part of the sum.

Y[p] = sum over r of if_then_else(0 <= p + r - b < extent, X[p + r - b], 0) * W[r]
->
P[q] = if_then_else(0 <= q - b < extent, X[q - b], 0);  Y[p] = sum over r of P[p + r] * W[r]
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.affine import depends
from baton._src.lower.kernel_schedules.conv_window import Window, bordered, read_windows
from baton._src.lower.kernel_schedules.stages import Axis, Stage
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.scalar_functions import if_then_else


def border_apart(stage: Stage) -> tuple[Stage, Stage] | None:
    """The border as a stage, and the sum that reads it; None where a sum of products has no border inside."""
    if stage.combiner is not tir.Add or not isinstance(stage.value, tir.Mul):
        return None
    for data, weight in ((stage.value.a, stage.value.b), (stage.value.b, stage.value.a)):
        found = bordered(data)
        if found is None or not found[0]:
            continue
        first = next((n for n in range(len(stage.spatial), 0, -1) if depends(weight, stage.spatial[n - 1].var)), 0)
        seen = read_windows(stage, data, stage.spatial[first:])
        if seen is None:
            return None
        border, load = _border(*seen)
        return border, replace(stage, value=tir.Mul(load, weight))
    return None


def _border(load: tir.BufferLoad, windows: list[Window]) -> tuple[Stage, tir.BufferLoad]:
    shape, indices = list(load.buffer.shape), list(load.indices)
    axes = [Axis(tir.Var(f"b{n}", index.dtype), dim) for n, (index, dim) in enumerate(zip(indices, shape))]
    source: list[PrimExpr] = [a.var for a in axes]
    inside: list[PrimExpr] = []
    for window in windows:
        place = next(n for n, index in enumerate(load.indices) if depends(index, window.axis.var))
        size, var = window.axis.size or 1, axes[place].var
        shape[place] = tir.IntImm(var.dtype, (size - 1) * window.stride + (window.taps - 1) * window.dilation + 1)
        axes[place] = Axis(var, shape[place])
        begin = tir.IntImm(var.dtype, window.begin)
        indices[place], source[place] = ops.add(indices[place], begin), ops.subtract(var, begin)
        inside += [tir.GE(var, begin), tir.LT(var, tir.IntImm(var.dtype, window.begin + window.extent))]
    buffer = decl_buffer(shape, load.buffer.dtype, "bordered")
    condition = inside[0]
    for part in inside[1:]:
        condition = ops.logical_and(condition, part)
    value = if_then_else(condition, tir.BufferLoad(load.buffer, tuple(source)), ops.const(0, load.dtype))
    return Stage(buffer, tuple(axes), value), tir.BufferLoad(buffer, tuple(indices))
