"""Packing a panel of columns of a product's right factor just before it is used."""

from __future__ import annotations

from dataclasses import dataclass

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.affine import depends, step
from baton._src.lower.kernel_schedules.factors import bound, load_of
from baton._src.lower.kernel_schedules.loops import VECTORIZED, i64, index_var, loop
from baton._src.lower.kernel_schedules.stages import Axis
from baton._src.lower.kernel_schedules.transpose import square
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import intrinsic


@dataclass(frozen=True)
class Factor:
    """The right factor of a product, and its axes."""

    value: PrimExpr
    k: Axis
    columns: Axis


def pack_panel(factor: Factor, buffer: Buffer, start: PrimExpr, width: int, lanes: int) -> st.Stmt:
    """packed[k, v] = B[k, start + v], zeros beyond the last column; along whichever axis B is contiguous."""
    if _in_squares(factor, buffer, lanes):
        return _pack_squares(factor, buffer, start, width, lanes)
    k, v = index_var("k"), index_var("v")
    column = ops.add(start, v)
    value = bound(factor.value, {factor.k: k, factor.columns: column})
    slot = ops.add(ops.multiply(k, i64(width)), v)
    size = factor.columns.size
    whole = size is not None and size % width == 0
    zero = ops.const(0, buffer.dtype)
    guarded = value if whole else where(tir.LT(column, as_int64(factor.columns.extent)), value, zero)
    store = st.BufferStore(buffer, guarded, (slot,))
    if step(load_of(factor.value), factor.k) == 1:
        return loop(v, width, loop(k, factor.k.extent, store, VECTORIZED))
    return loop(k, factor.k.extent, loop(v, width, store, VECTORIZED))


def _in_squares(factor: Factor, buffer: Buffer, lanes: int) -> bool:
    """Whether B lies (n, k) so that squares of registers turn it into a panel."""
    value, k = factor.value, factor.k
    inner = value.value if isinstance(value, tir.Cast) else value  # converted as it is loaded
    if not isinstance(inner, tir.BufferLoad) or value.dtype != buffer.dtype or buffer.dtype.bits not in (32, 64):
        return False
    load = inner
    plain = load.indices[-1] is k.var and not any(depends(i, k.var) for i in load.indices[:-1])
    return plain and not load.buffer.strides and k.size is not None and k.size % lanes == 0 and lanes >= 4


def _pack_squares(factor: Factor, buffer: Buffer, start: PrimExpr, width: int, lanes: int) -> st.Stmt:
    """packed[k, v] = B[start + v, k]; the last column once more where there are no more."""
    load, size = load_of(factor.value), factor.columns.size
    last = ops.subtract(as_int64(factor.columns.extent), i64(1))
    whole = size is not None and size % width == 0
    part, block = index_var("part"), index_var("k")
    top, left = ops.multiply(part, i64(lanes)), ops.multiply(block, i64(lanes))
    run = tir.Ramp(left, i64(1), lanes)

    def source(number: int) -> PrimExpr:
        column = ops.add(ops.add(start, top), i64(number))
        at = bound(load, {factor.columns: column if whole else ops.min(column, last)})
        assert isinstance(at, tir.BufferLoad)
        return ops.cast(buffer.dtype.with_lanes(lanes), tir.BufferLoad(at.buffer, (*at.indices[:-1], run)))

    def store(number: int, vector: tir.Var) -> st.Stmt:
        slot = ops.add(ops.multiply(ops.add(left, i64(number)), i64(width)), top)
        return st.BufferStore(buffer, vector, (tir.Ramp(slot, i64(1), lanes),))

    assert factor.k.size is not None
    return loop(part, width // lanes, loop(block, factor.k.size // lanes, square(source, store, lanes)))


def where(condition: PrimExpr, value: PrimExpr, other: PrimExpr) -> PrimExpr:
    return tir.Call(value.dtype, intrinsic("if_then_else"), (condition, value, other))
