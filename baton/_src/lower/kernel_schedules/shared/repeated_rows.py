"""Rows that are repeated, one beside the other: what they share is computed once.

    for i in 28: for j in 28: B[i, j] = A[i // 2, j // 2]
    ->
    for q in 14: for r in 2: for j in 28: B[2 * q + r, j] = A[q, j // 2]

Nothing depends on r, so that a vector is loaded once for all of its rows, and places are computed once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer

MANY_ROWS = 9
"""So many repeated rows have enough to do by themselves."""


def rows_apart(stage: Stage) -> Stage:
    """`stage` with each axis but the last that only says which repeated row it is about as two axes."""
    if stage.reduce or stage.buffer.strides:
        return stage
    for axis in stage.spatial[:-1]:
        times = _times(stage.value, axis)
        extent = None if times is None else _divided(axis.extent, times)
        if times is not None and extent is not None:
            stage = _split(stage, axis, extent, times)
    return stage


def _times(value: PrimExpr, axis: Axis) -> int | None:
    """The number that divides the axis wherever it is used."""
    found = {node.b.value for node in post_order(value) if _is_quotient(node, axis)}
    if len(found) != 1:
        return None
    one = rewrite(value, lambda node: tir.IntImm(axis.var.dtype, 0) if _is_quotient(node, axis) else None)
    (times,) = found
    return times if 1 < times < MANY_ROWS and not depends(one, axis.var) else None


def _is_quotient(node: Any, axis: Axis) -> bool:
    return isinstance(node, tir.FloorDiv) and node.a is axis.var and isinstance(node.b, tir.IntImm)


def _divided(extent: PrimExpr, times: int) -> PrimExpr | None:
    """An extent divided by a number; None where it may not be a multiple of it."""
    match extent:
        case tir.IntImm(value=size) if size % times == 0:
            return tir.IntImm(extent.dtype, size // times)
        case tir.Mul(a=a, b=tir.IntImm(value=factor)) if factor == times:
            return a
        case _:
            return None


def _split(stage: Stage, axis: Axis, extent: PrimExpr, times: int) -> Stage:
    row = Axis(tir.Var(axis.var.name, axis.var.dtype), extent)
    again = Axis(tir.Var("again", axis.var.dtype), tir.IntImm(axis.extent.dtype, times))

    def rule(node: Node) -> PrimExpr | None:
        return row.var if _is_quotient(node, axis) else None

    place, shape = stage.spatial.index(axis), stage.buffer.shape
    dims = (*shape[:place], row.extent, again.extent, *shape[place + 1 :])
    buffer = Buffer(stage.buffer.data, stage.buffer.dtype, dims, (), stage.buffer.elem_offset, stage.buffer.name)
    spatial = (*stage.spatial[:place], row, again, *stage.spatial[place + 1 :])
    return replace(stage, buffer=buffer, spatial=spatial, value=rewrite(stage.value, rule))
