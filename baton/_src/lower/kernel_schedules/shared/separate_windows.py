"""Maxima, minima and sums of windows of many points, one axis of the window after the other.

    y[i, j] = max(x[i + u, j + v] for u, v)   ->   t[i, k] = max(x[i + u, k] for u)
                                                   y[i, j] = max(t[i, j + v] for v)

Neighbouring windows share the result of what they have in common: a window of 5 x 5 takes 5 + 5 steps instead of 25
(with a stride of 2, 2 * 5 + 5).
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.loops import constant, product
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Opaque, Stage
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer

WORTH_A_STAGE = 1.5
COMBINERS = (tir.Max, tir.Min, tir.Add)
"""How many times fewer steps pay for the memory between two stages, and what is combined in them."""


def separate_windows(kernel: Kernel) -> Kernel:
    """Return `kernel` with each reduction over a window of many points as one stage per axis of the window."""
    found = [_separated(stage) for stage in kernel.stages]
    stages = tuple(stage for parts in found for stage in parts)
    between = tuple(stage.buffer for parts in found for stage in parts[:-1] if isinstance(stage, Stage))
    return replace(kernel, stages=stages, local=(*kernel.local, *between)) if between else kernel


def _separated(stage: Stage | Opaque) -> tuple[Stage | Opaque, ...]:
    """The stages that take the place of one: those before the last fill buffers of their own."""
    if not isinstance(stage, Stage) or stage.combiner not in COMBINERS or len(stage.reduce) < 2:
        return (stage,)
    if stage.combiner is tir.Add and not ops.is_const(stage.init, 0):
        return (stage,)  # each stage would add it
    tap = stage.reduce[-1]
    for axis in reversed(stage.spatial):
        stride = _stride(stage.value, axis, tap)
        if stride is None or not _is_worth_it(stage.reduce, stride, WORTH_A_STAGE):
            continue
        first = _across(stage, axis, tap, stride)
        if first is not None:
            start = ops.multiply(axis.var, ops.const(stride, axis.var.dtype))
            places = tuple(ops.add(start, tap.var) if a is axis else a.var for a in stage.spatial)
            last = replace(stage, value=tir.BufferLoad(first.buffer, places), reduce=(tap,))
            return (*_separated(first), last)
    return (stage,)


def _is_worth_it(window: tuple[Axis, ...], stride: int, worth: float) -> bool:
    """Whether the last axis of the window on its own saves enough: the others are gone over at each of `stride` places
    for a window.
    """
    others, last = constant(product([a.extent for a in window[:-1]])), window[-1].size
    return others is not None and last is not None and others * last >= worth * (others * stride + last)


def _stride(value: PrimExpr, axis: Axis, tap: Axis) -> int | None:
    """The factor of the axis where it meets the tap: `axis * stride + tap`."""
    found = (_stride_at(node, axis, tap) for node in post_order(value))
    return next((stride for stride in found if stride is not None), None)


def _stride_at(place: Node, axis: Axis, tap: Axis) -> int | None:
    match place:
        case tir.Add(a=start, b=b) if b is tap.var:
            match start:
                case tir.Var() if start is axis.var:
                    return 1
                case tir.Mul(a=a, b=tir.IntImm(value=stride)) if a is axis.var and stride > 0:
                    return stride
    return None


def _across(stage: Stage, axis: Axis, tap: Axis, stride: int) -> Stage | None:
    """The stage over the other axes of the window, at every place that some window reaches along `axis`.

    None if the value depends on the axis or the tap otherwise than by `axis * stride + tap`.
    """
    one, step = ops.const(1, axis.var.dtype), ops.const(stride, axis.var.dtype)
    reach = ops.add(ops.multiply(ops.subtract(axis.extent, one), step), tap.extent)
    # No windows reach nothing.
    along = Axis(tir.Var(axis.var.name, axis.var.dtype), ops.multiply(ops.min(axis.extent, one), reach))

    def rule(node: Node) -> Node | None:
        return along.var if _stride_at(node, axis, tap) == stride else None

    value = rewrite(stage.value, rule)
    if depends(value, axis.var) or depends(value, tap.var):
        return None
    spatial = tuple(along if a is axis else a for a in stage.spatial)
    name = f"{stage.buffer.name}_across"
    data = tir.Var(name, "handle", pointee=stage.buffer.dtype)
    buffer = Buffer(data, stage.buffer.dtype, tuple(a.extent for a in spatial), name=name)
    return replace(stage, buffer=buffer, spatial=spatial, value=value, reduce=stage.reduce[:-1]).renamed()
