"""Tensors computed over axes of 32 bits where their operands have such: operators compute over axes of 64.

    over A of shape (4, 5), dims of int32:   B of shape (T.int64(5), T.int64(4))   ->   (5, 4)

What an axis is compared with or computed into becomes as narrow, if nothing but axes, sizes and numbers is in it: an
index that depends on elements keeps its 64 bits, and so does everything where a tensor is too large for less.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.te.tensor import ComputeOp, Tensor
from baton._src.tir import expr as tir
from baton._src.tir.index_dtype import ARITHMETIC, in_dtype, parts
from baton._src.values.dtype import INT32, INT64


def with_narrow_axes(results: tuple[Tensor, ...], operands: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """`results` over axes of int32, down to `operands`; as they are if one is hand-made TIR, or too large."""
    order = _between(results, set(operands))
    if order is None or not all(_fits(t) for t in order):
        return results
    made: dict[Tensor, Tensor] = {}
    ops: dict[ComputeOp, ComputeOp] = {}
    for tensor in order:
        assert isinstance(tensor.op, ComputeOp)
        if tensor.op not in ops:
            ops[tensor.op] = _narrow(tensor.op, made)
        op = ops[tensor.op]
        made[tensor] = Tensor(tuple(_number(d) for d in tensor.shape), tensor.dtype, op, tensor.value_index)
    return tuple(made.get(t, t) for t in results)


def _between(results: tuple[Tensor, ...], operands: set[Tensor]) -> list[Tensor] | None:
    """What lies between, producers first; None if something is no computation."""
    order: dict[Tensor, None] = {}
    stack = [(t, False) for t in reversed(results)]
    while stack:
        tensor, is_done = stack.pop()
        if is_done:
            order[tensor] = None
        elif tensor not in operands and tensor not in order:
            if not isinstance(tensor.op, ComputeOp):
                return None
            stack.append((tensor, True))
            stack.extend((t, False) for t in tensor.op.input_tensors)
    return list(order)


def _fits(tensor: Tensor) -> bool:
    """Whether elements can be counted in 32 bits; sizes that are not constant are taken to be such."""
    return math.prod(d.value for d in tensor.shape if isinstance(d, tir.IntImm)) < 1 << 31


def _narrow(op: ComputeOp, made: dict[Tensor, Tensor]) -> ComputeOp:
    axes = {axis: _axis(axis) for axis in (*op.axis, *op.reduce_axis)}
    casts = {old.var: tir.Cast(INT64, new.var) for old, new in axes.items() if old.var.dtype == INT64}

    def rule(node: Node) -> Node | None:
        match node:
            case tir.ProducerLoad(producer=producer, indices=indices):
                return tir.ProducerLoad(made.get(producer, producer), tuple(_number(i) for i in indices))
            case tir.CompareOp(a=a, b=b) if a.dtype == INT64 and _is_index(a) and _is_index(b):
                return type(node)(in_dtype(a, INT32), in_dtype(b, INT32))
            case tir.Reduce():
                return node.with_fields(axis=tuple(axes.get(axis, axis) for axis in op.reduce_axis))
            case _:
                return None

    bodies = tuple(rewrite(substitute(body, casts), rule) for body in op.body)
    axis, reduced = (tuple(axes[a] for a in given) for given in (op.axis, op.reduce_axis))
    return ComputeOp(op.name, axis, reduced, bodies, op.tag, op.attrs)


def _axis(axis: tir.IterVar) -> tir.IterVar:
    if axis.var.dtype != INT64:
        return axis
    assert axis.dom is not None
    domain = Range(_number(axis.dom.min), _number(axis.dom.extent))
    return tir.IterVar(domain, tir.Var(axis.var.name, INT32), axis.iter_type)


def _number(expr: PrimExpr) -> PrimExpr:
    return in_dtype(expr, INT32) if expr.dtype == INT64 and _is_index(expr) else expr


def _is_index(expr: PrimExpr) -> bool:
    """Whether there is nothing but arithmetic on scalars of int32, which no element tells, and on numbers of it."""
    low, high = INT32.int_range
    for leaf in parts(expr):
        match leaf:
            case tir.IntImm(value=value) if low <= value <= high:
                pass
            case tir.Cast(value=value) if value.dtype == INT32 and not _has_elements(value):
                pass
            case _:
                if not isinstance(leaf, ARITHMETIC):
                    return False
    return True


def _has_elements(expr: PrimExpr) -> bool:
    return any(isinstance(node, tir.ProducerLoad) for node in post_order(expr))
