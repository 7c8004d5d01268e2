"""Grouped convolutions as one dense convolution for each group: the axis of output channels becomes two.

Y[n, o, p] = sum over c, .. of X[n, o // G * C + c, ..] * W[o, c, ..]           o = g * G + i
Y'[n, g, i, p] = sum over c, .. of X[n, g * C + c, ..] * W'[g, i, c, ..]        Y', W': the same memory
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.shared.affine import depends, same
from baton._src.lower.kernel_schedules.shared.anchors import Anchored
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer


def groups_of(stage: Stage) -> tuple[Axis, int] | None:
    """The axis of output channels of a grouped convolution, and how many of them a group has; None for others."""
    if stage.combiner is not tir.Add or len(stage.reduce) < 2 or not isinstance(stage.value, tir.Mul):
        return None
    sizes: set[tuple[tir.Var, int]] = set()
    for node in post_order(stage.value):
        if isinstance(node, tir.FloorDiv) and isinstance(node.a, tir.Var) and isinstance(node.b, tir.IntImm):
            sizes.add((node.a, node.b.value))
    if len(sizes) != 1:
        return None
    var, size = sizes.pop()
    axis = next((a for a in stage.spatial if a.var is var), None)
    if axis is None or axis.size is None or size < 2 or axis.size % size or stage.buffer.strides:
        return None
    group = tir.Var("g", var.dtype)
    data = [load for load in _by_group(stage.value, var, size, group) if load.indices and load.indices[0] is not var]
    return (axis, size) if data and not any(depends(load, var) for load in data) else None


def _by_group(value: PrimExpr, var: tir.Var, size: int, group: PrimExpr) -> list[tir.BufferLoad]:
    return [n for n in post_order(_divided(value, var, size, group)) if isinstance(n, tir.BufferLoad)]


def _divided(value: PrimExpr, var: tir.Var, size: int, group: PrimExpr) -> PrimExpr:
    """`value` with var // size being `group`."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.FloorDiv) and node.a is var and isinstance(node.b, tir.IntImm) and node.b.value == size:
            return group
        return None

    found: PrimExpr = rewrite(value, rule)
    return found


def by_group(found: Anchored) -> Anchored:
    """The convolution and its epilogue over groups and channels of a group."""
    split = groups_of(found.stage)
    assert split is not None
    axis, size = split
    place = found.stage.spatial.index(axis)
    stage = _apart(found.stage, place, size)
    return Anchored(stage, None if found.epilogue is None else _apart(found.epilogue, place, size))


def _apart(stage: Stage, place: int, size: int) -> Stage:
    axis = stage.spatial[place]
    assert axis.size is not None
    dtype = axis.var.dtype
    outer = Axis(tir.Var("g", dtype), tir.IntImm(dtype, axis.size // size))
    inner = Axis(tir.Var(axis.var.name, dtype), tir.IntImm(dtype, size))
    buffers: dict[tuple[Buffer, int], Buffer] = {}

    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad) and any(i is axis.var for i in node.indices) and not node.buffer.strides:
            at = next(n for n, i in enumerate(node.indices) if i is axis.var)
            if not same(node.buffer.shape[at], axis.extent):
                return None  # a part of a dim, which may have no whole number of groups
            if (node.buffer, at) not in buffers:
                buffers[node.buffer, at] = split_dim(node.buffer, at, size)
            indices = (*node.indices[:at], outer.var, inner.var, *node.indices[at + 1 :])
            return tir.BufferLoad(buffers[node.buffer, at], indices)
        return None

    value = rewrite(_divided(stage.value, axis.var, size, outer.var), rule)
    whole = ops.add(ops.multiply(outer.var, tir.IntImm(dtype, size)), inner.var)
    value = rewrite(value, lambda node: whole if node is axis.var else None)
    spatial = (*stage.spatial[:place], outer, inner, *stage.spatial[place + 1 :])
    return replace(stage, buffer=split_dim(stage.buffer, place, size), spatial=spatial, value=value)


def split_dim(buffer: Buffer, place: int, size: int) -> Buffer:
    """The same memory with one dim as two, the inner of `size`."""
    dim = buffer.shape[place]
    parts = (ops.floordiv(dim, tir.IntImm(dim.dtype, size)), tir.IntImm(dim.dtype, size))
    shape = (*buffer.shape[:place], *parts, *buffer.shape[place + 1 :])
    return Buffer(buffer.data, buffer.dtype, shape, (), buffer.elem_offset, buffer.name)
