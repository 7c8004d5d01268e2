"""Choices by digits of a flat index, which a reshape leaves, as choices by axes.

B[i, j] = if_then_else((i * 64 + j) % 2 >= 1, Y[(i * 64 + j) // 2 // 32, (i * 64 + j) // 2 % 32], X[..])
->
B[i, j] = if_then_else(j % 2 >= 1, Y[i, j // 2], X[i, j // 2])              (`with_plain_indices`)
B'[i, q, r] = if_then_else(r >= 1, Y[i, q], X[i, q])                        (`with_last_axis_apart`)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeGuard

from baton._src.ir.expr import Op, PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.shared.loops import i64
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer
from baton._src.values.dtype import INT64

_DIGITS = (tir.FloorDiv, tir.FloorMod)


def is_choice(node: object) -> TypeGuard[tir.Select | tir.Call]:
    """Whether a node is one of two values, by a condition."""
    return isinstance(node, tir.Select) or (
        isinstance(node, tir.Call) and isinstance(node.op, Op) and node.op.name == "tir.if_then_else"
    )


def with_plain_indices(stage: Stage) -> Stage:
    """The stage with indices and conditions simplified, if it has digits of an index in it, and chooses among values or
    is of open size: digits of known places are recognised as they are (`reshaped`).
    """
    nodes = post_order(stage.value)
    is_open = any(axis.size is None for axis in stage.spatial)
    if not (is_open or any(is_choice(n) for n in nodes)) or not any(isinstance(n, _DIGITS) for n in nodes):
        return stage
    analyzer = Analyzer()
    for axis in stage.spatial:
        analyzer.bind(axis.var, Range(tir.IntImm(axis.var.dtype, 0), axis.extent))

    def rule(node: Node) -> Node | None:
        if not isinstance(node, (*_DIGITS, tir.CompareOp)) or not (node.a.dtype.is_int and node.dtype.lanes == 1):
            return None
        if any(isinstance(n, tir.BufferLoad) for n in post_order(node)):
            return None
        found: PrimExpr = analyzer.simplify(node)
        return found

    value = rewrite(stage.value, rule)
    return stage if value is stage.value else replace(stage, value=value)


def with_last_axis_apart(stage: Stage, sizes: Collection[int]) -> Stage:
    """The stage over `j // n` and `j % n` in place of its last axis j, if n is one of `sizes` and a condition asks for
    `j % n`; else the same stage.
    """
    last, old = stage.spatial[-1], stage.buffer
    asked = [n for n in post_order(stage.value) if isinstance(n, tir.FloorMod) and n.a is last.var]
    times = next((n.b.value for n in asked if isinstance(n.b, tir.IntImm) and n.b.value in sizes), None)
    if times is None or last.size is None or last.size % times or old.strides:
        return stage
    extents = (i64(last.size // times), i64(times))
    outer, inner = (Axis(tir.Var(f"{last.var.name}_{part}", INT64), extent) for part, extent in zip("qr", extents))
    whole = ops.cast(last.var.dtype, ops.add(ops.multiply(outer.var, i64(times)), inner.var))
    digits = {tir.FloorDiv: outer.var, tir.FloorMod: inner.var}

    def rule(node: Node) -> Node | None:
        if isinstance(node, _DIGITS) and node.a is whole and isinstance(node.b, tir.IntImm) and node.b.value == times:
            return ops.cast(node.dtype, digits[type(node)])
        return whole if node is last.var else None

    buffer = Buffer(old.data, old.dtype, (*old.shape[:-1], *extents), (), old.elem_offset, old.name)
    return replace(stage, buffer=buffer, spatial=(*stage.spatial[:-1], outer, inner), value=rewrite(stage.value, rule))
