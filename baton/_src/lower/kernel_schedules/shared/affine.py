"""Strides of indices along an axis, and fusing axes that are adjacent in memory."""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, rewrite
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer


def coefficient(expr: Node, var: tir.Var) -> int | None:
    """By how much `expr` increases when `var` grows by one; None if that is not a constant."""
    match expr:
        case tir.Var():
            return int(expr is var)
        case tir.Cast(value=value) if not expr.dtype.is_bool and expr.dtype.bits >= 32:
            return coefficient(value, var)  # places fit into 32 bits where a program says so; less may wrap
        case tir.Add(a=a, b=b) | tir.Sub(a=a, b=b):
            first, second = coefficient(a, var), coefficient(b, var)
            if first is None or second is None:
                return None
            return first + second if isinstance(expr, tir.Add) else first - second
        case tir.Mul(a=a, b=tir.IntImm(value=factor)) | tir.Mul(a=tir.IntImm(value=factor), b=a):
            inner = coefficient(a, var)
            return None if inner is None else inner * factor
        case _:
            return None if depends(expr, var) else 0


def depends(expr: Node, var: tir.Var) -> bool:
    """Whether `var` occurs in `expr`."""
    return any(n is var for n in post_order(expr))


def step(load: tir.BufferLoad, axis: Axis) -> int | None:
    """By how many elements the address of a load moves per step along an axis: 0, 1, more (some number >= 2), None if
    unknown.
    """
    moves = [coefficient(index, axis.var) for index in load.indices]
    if any(m is None for m in moves) or load.buffer.strides:
        return None
    if all(m == 0 for m in moves):
        return 0
    if all(m == 0 for m in moves[:-1]):
        return moves[-1]
    sizes = load.buffer.shape
    total = 0
    scale: int | None = 1
    for move, size in zip(reversed(moves), reversed(sizes)):
        assert move is not None
        if move and scale is None:
            return 1 << 20  # a symbolic stride counts as large
        total += move * (scale or 0)
        scale = scale * size.value if scale is not None and isinstance(size, tir.IntImm) else None
    return total


def known_step(load: tir.BufferLoad, axis: Axis) -> int | None:
    """`step`, but None where it depends on a symbolic size: for computing addresses."""
    moves = [coefficient(index, axis.var) for index in load.indices]
    using = next((n for n, move in enumerate(moves) if move != 0), len(moves))
    known = all(isinstance(dim, tir.IntImm) for dim in load.buffer.shape[using + 1 :])
    return step(load, axis) if known else None


def same(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether two extents are provably equal."""
    return a is b or structural_equal(a, b)


def merge_trailing(stage: Stage) -> Stage:
    """Return `stage` with as many of its last spatial axes, and of its reduced axes, merged as are contiguous in all
    accesses.
    """
    while len(stage.spatial) > 1:
        found = merge_pair(stage, stage.spatial[-2], stage.spatial[-1])
        if found is None:
            break
        stage = found
    while len(stage.reduce) > 1:
        found = merge_pair(stage, stage.reduce[-2], stage.reduce[-1])
        if found is None:
            break
        stage = found
    return stage


def merge_pair(stage: Stage, outer: Axis, inner: Axis) -> Stage | None:
    """Return the stage over one axis instead of two: accesses see the two dims as one."""
    for node in post_order(stage.value, below=_outside_loads):
        if node is outer.var or node is inner.var:
            return None  # something other than an access depends on an axis
    if any(_pair_place(load, outer, inner) is None for load in stage.loads):
        return None
    extent = ops.multiply(outer.extent, inner.extent)
    axis = Axis(tir.Var(f"{outer.var.name}_{inner.var.name}", inner.var.dtype), extent)
    reshaped: dict[tuple[Buffer, int], Buffer] = {}

    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad):
            place = _pair_place(node, outer, inner)
            if place is not None and place >= 0:
                key = (node.buffer, place)
                if key not in reshaped:
                    reshaped[key] = joined(node.buffer, place)
                indices = (*node.indices[:place], axis.var, *node.indices[place + 2 :])
                return tir.BufferLoad(reshaped[key], indices)
        return None

    value = rewrite(stage.value, rule)
    if outer in stage.reduce:
        reduce = (*(a for a in stage.reduce if a not in (outer, inner)), axis)
        return replace(stage, reduce=reduce, value=value)
    if stage.buffer.strides:
        return None
    place = stage.spatial.index(outer)
    spatial = (*stage.spatial[:place], axis, *stage.spatial[place + 2 :])
    return replace(stage, buffer=joined(stage.buffer, place), spatial=spatial, value=value)


def joined(buffer: Buffer, place: int) -> Buffer:
    """The same memory with two neighbouring dims merged."""
    shape = (
        *buffer.shape[:place],
        ops.multiply(buffer.shape[place], buffer.shape[place + 1]),
        *buffer.shape[place + 2 :],
    )
    return Buffer(buffer.data, buffer.dtype, shape, (), buffer.elem_offset, buffer.name)


def _pair_place(load: tir.BufferLoad, outer: Axis, inner: Axis) -> int | None:
    """The position at which the pair of axes indexes two neighbouring dims; -1 if the load uses neither; None if it
    prevents merging.
    """
    has = [depends(i, outer.var) or depends(i, inner.var) for i in load.indices]
    if not any(has):
        return -1
    place = has.index(True)
    if sum(has) != 2 or place + 1 >= len(has) or not has[place + 1] or load.buffer.strides:
        return None
    exact = load.indices[place] is outer.var and load.indices[place + 1] is inner.var
    return place if exact and same(load.buffer.shape[place + 1], inner.extent) else None


def _outside_loads(node: Node) -> list[PrimExpr]:
    """Children of a node, where loads are leaves."""
    if isinstance(node, tir.BufferLoad):
        return []
    return _children(node)


def _children(node: Node) -> list[PrimExpr]:
    found = []
    for name in ("a", "b", "value", "condition", "true_value", "false_value", "body", "base"):
        part = getattr(node, name, None)
        if isinstance(part, PrimExpr):
            found.append(part)
    for part in getattr(node, "args", ()):
        if isinstance(part, PrimExpr):
            found.append(part)
    return found
