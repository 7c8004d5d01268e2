"""Transpose a few columns of a (k, n) factor for dot products along k: one by one, or by squares of registers."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.products.panel_packing import where
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    SERIAL,
    VECTORIZED,
    i64,
    index_var,
    loop,
)
from baton._src.lower.kernel_schedules.shared.register_shuffles import square
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer


def transposed_one_by_one(matrix: Product, transposed: Buffer, columns: range) -> st.Stmt:
    """transposed[batch.., column, k] = B[batch.., k, columns.start + column]."""
    assert matrix.right is not None
    axes = (*matrix.batch, matrix.columns, matrix.k)
    fresh = {a: index_var(a.var.name) for a in axes}
    places: dict[Axis, PrimExpr] = {**fresh, matrix.columns: ops.add(fresh[matrix.columns], i64(columns.start))}
    copy: st.Stmt = st.BufferStore(transposed, bound(matrix.right, places), tuple(fresh.values()))
    for axis, extent in reversed(list(zip(axes, transposed.shape, strict=True))):
        copy = loop(fresh[axis], extent, copy, VECTORIZED if axis is matrix.k else SERIAL)
    return copy


def transposes_by_squares(matrix: Product, columns: int, lanes: int) -> bool:
    """Whether columns of a (k, n) B are transposed by squares of registers, because they are too many to do one by
    one.
    """
    assert matrix.right is not None
    load, depth = load_of(matrix.right), matrix.k.size or 0
    plain = load is matrix.right and step(load, matrix.columns) == 1 and load.indices[-1] is matrix.columns.var
    return plain and lanes // 2 < columns <= lanes <= depth and load.dtype.bits == 32


def transposed_by_squares(matrix: Product, transposed: Buffer, columns: range, lanes: int) -> st.Stmt:
    """The same by squares of registers: rows of B, up to the last column, become columns; the last square overlaps."""
    assert matrix.right is not None
    load, depth, block = load_of(matrix.right), matrix.k.size or 0, index_var("block")
    fresh = {a: index_var(a.var.name) for a in matrix.batch}
    begin = ops.min(ops.multiply(block, i64(lanes)), i64(depth - lanes))
    inside = tir.LT(tir.Ramp(i64(0), i64(1), lanes), tir.Broadcast(i64(len(columns)), lanes))

    def source(number: int) -> PrimExpr:
        row = bound(load, {**fresh, matrix.k: ops.add(begin, i64(number))})
        assert isinstance(row, tir.BufferLoad)
        run = tir.BufferLoad(row.buffer, (*row.indices[:-1], tir.Ramp(i64(columns.start), i64(1), lanes)))
        return where(inside, run, tir.Broadcast(ops.const(0, load.dtype), lanes))

    def store(number: int, vector: tir.Var) -> st.Stmt:
        if number >= len(columns):
            return st.Evaluate(tir.IntImm("int32", 0))
        return st.BufferStore(transposed, vector, (*fresh.values(), i64(number), tir.Ramp(begin, i64(1), lanes)))

    copy = loop(block, -(-depth // lanes), square(source, store, lanes))
    for axis in reversed(matrix.batch):
        copy = loop(fresh[axis], axis.extent, copy)
    return copy
