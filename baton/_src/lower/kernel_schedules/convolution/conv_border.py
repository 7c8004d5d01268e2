"""Copy a convolution's input so that stride 1 suffices: padded, and split into the phases of its stride.

Y[p] = sum over r of if_then_else(0 <= p * s + r - b < extent, X[p * s + r - b], 0) * W[r]
->
P[f, q] = if_then_else(0 <= q * s + f - b < extent, X[q * s + f - b], 0)
Y[p] = sum over r of P[r mod s, p + r / s] * W[r]

Or padded only, which inputs of unknown extents can be, too.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.conv_window import Window, bordered, read_windows
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.builders.scalar_functions import if_then_else

MOST_STRIDE = 4
"""Steps up to which vectors are taken apart by shuffles."""


@dataclass(frozen=True, eq=False)
class Border:
    """An input with its border and by phases, as a stage: `columns` is the window along its last dim, whose phases are
    the dim `phase` (None: there is one).
    """

    stage: Stage
    columns: Window
    phase: int | None


def border_apart(stage: Stage, phases: bool = True) -> tuple[Border, Stage] | None:
    """The input with border and phases, and the sum that reads it; None where it is right as it lies, or steps are
    long. Without `phases` it just has its border, and may be of unknown extents.
    """
    if stage.combiner is not tir.Add or not isinstance(stage.value, tir.Mul):
        return None
    for data, weight in ((stage.value.a, stage.value.b), (stage.value.b, stage.value.a)):
        found = bordered(data)
        if found is None or not isinstance(weight, tir.BufferLoad):
            continue
        first = next((n for n in range(len(stage.spatial), 0, -1) if depends(weight, stage.spatial[n - 1].var)), 0)
        seen = read_windows(stage, data, stage.spatial[first:], symbolic=not phases)
        if seen is None or not seen[1] or not (found[0] or any(w.stride > 1 for w in seen[1])):
            continue
        if any(w.stride > MOST_STRIDE for w in seen[1]):
            return None
        border, load = _border(*seen, phases)
        return border, replace(stage, value=tir.Mul(load, weight))
    return None


def _border(load: tir.BufferLoad, windows: list[Window], split: bool) -> tuple[Border, tir.BufferLoad]:
    """The border, and the load of it for `load`: phases, if it is `split`, come in front of all that is not batch or
    channel.
    """
    shape, indices = list(load.buffer.shape), list(load.indices)
    axes = [Axis(tir.Var(f"b{n}", index.dtype), dim) for n, (index, dim) in enumerate(zip(indices, shape))]
    source: list[PrimExpr] = [a.var for a in axes]
    inside: PrimExpr = tir.IntImm("bool", 1)
    phases: list[tuple[Axis, PrimExpr]] = []
    places = [next(n for n, i in enumerate(load.indices) if depends(i, w.axis.var)) for w in windows]
    for place, window in zip(places, windows):
        kind, stride, step = indices[place].dtype, window.stride if split else 1, 1 if split else window.stride
        reach = (window.taps - 1) * window.dilation
        size = ops.multiply(ops.cast(kind, window.axis.extent), tir.IntImm(kind, step))
        axes[place] = Axis(axes[place].var, ops.add(size, tir.IntImm(kind, reach // stride)))
        tap: PrimExpr = tir.IntImm(kind, 0)
        if window.tap is not None:
            tap = ops.multiply(window.tap.var, tir.IntImm(kind, window.dilation))
        at: PrimExpr = axes[place].var
        if stride > 1:
            phase = Axis(tir.Var(f"f{place}", kind), tir.IntImm(kind, min(stride, reach + 1)))
            phases.append((phase, ops.floormod(tap, tir.IntImm(kind, stride))))
            at = ops.add(ops.multiply(at, tir.IntImm(kind, stride)), phase.var)
        first = ops.multiply(window.axis.var, tir.IntImm(kind, step))
        indices[place] = ops.add(first, ops.floordiv(tap, tir.IntImm(kind, stride)))
        source[place] = ops.subtract(at, tir.IntImm(kind, window.begin))
        before_end = source[place] < ops.cast(kind, window.extent)
        inside = ops.logical_and(inside, ops.logical_and(source[place] >= 0, before_end))
    lead = min(places)
    axes[lead:lead], indices[lead:lead] = [a for a, _ in phases], [index for _, index in phases]
    buffer = decl_buffer([a.extent for a in axes], load.buffer.dtype, "bordered")
    value = if_then_else(inside, tir.BufferLoad(load.buffer, tuple(source)), ops.const(0, load.dtype))
    last = lead + len(phases) - 1 if split and windows[-1].stride > 1 else None
    return Border(Stage(buffer, tuple(axes), value), windows[-1], last), tir.BufferLoad(buffer, tuple(indices))
