"""Stages that are computed where they are read, chosen by how they read: `te.schedule.AutoInlineInjective(s)`, ...

Each takes the stages that nothing was said about and that are not results.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.te.schedule import Schedule
from baton._src.te.tensor import ComputeOp


def auto_inline_elem_wise(sch: Schedule) -> None:
    """Those that read every tensor at their own axes: `a[i, j] + b[i, j]`."""
    _inline(sch, lambda op: _reads_in_order(op) and all(len(load.indices) == len(op.axis) for load in op.loads))


def auto_inline_broadcast(sch: Schedule) -> None:
    """Those that read every tensor at some of their axes, in order: `a[i, j] + b[j]`."""
    _inline(sch, _reads_in_order)


def auto_inline_injective(sch: Schedule) -> None:
    """All that are not reductions: `a[j, i]`, `a[i // 4]`."""
    _inline(sch, lambda op: True)


def _inline(sch: Schedule, is_wanted: Callable[[ComputeOp], bool]) -> None:
    for stage in sch.stages:
        op = stage.op
        is_free = stage.attached is None and not stage.history and stage.origin not in sch.outputs
        if is_free and isinstance(op, ComputeOp) and not op.reduce_axis and is_wanted(op):
            stage.compute_inline()


def _reads_in_order(op: ComputeOp) -> bool:
    """Whether the indices of every read are axes, each behind the one before."""
    for load in op.loads:
        axes = iter(op.axis)
        if not all(any(axis.var is index for axis in axes) for index in load.indices):
            return False
    return True
