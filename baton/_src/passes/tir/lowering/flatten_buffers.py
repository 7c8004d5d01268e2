"""Accesses of multi-dimensional buffers become accesses of one flat buffer, with int64 indices.

    C[i, j]  ->  C_flat[i * 32 + j]

Strides and offset of the buffer are applied; buffers over the same pointer share one flat buffer an element type.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import rewrite
from baton._src.passes.tir.lowering.fold import fold
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.values.dtype import INT64, DataType

Place = Callable[[Buffer, tuple[PrimExpr, ...]], PrimExpr]


def flatten_buffers(body: st.Stmt) -> st.Stmt:
    """`body` with one-dimensional accesses only."""
    flat: dict[tuple[tir.Var, DataType], Buffer] = {}

    def flattened(buffer: Buffer) -> Buffer:
        key = (buffer.data, buffer.dtype)
        if key not in flat:
            moves = buffer.elem_offset is not None and not isinstance(buffer.elem_offset, tir.IntImm)
            # A view's offset has variables of loops around the view, which mean nothing where the memory is used next.
            flat[key] = flat_buffer(buffer.with_fields(elem_offset=None) if moves else buffer)
        return flat[key]

    def rule(node: Node) -> Node | None:
        match node:
            case tir.BufferLoad(buffer=buffer, indices=indices):
                return tir.BufferLoad(flattened(buffer), (flat_index(buffer, indices),))
            case st.BufferStore(buffer=buffer, value=value, indices=indices):
                return st.BufferStore(flattened(buffer), value, (flat_index(buffer, indices),))
            case st.DeclBuffer(body=inner):
                return inner
            case st.Block():
                return flat_block(node, flattened, flat_index)
            case st.Allocate(extents=extents):
                return node.with_fields(extents=tuple(as_int64(e) for e in extents))
            case _:
                return fold(node)

    found: st.Stmt = rewrite(body, rule)
    return found


def flat_block(block: st.Block, flattened: Callable[[Buffer], Buffer], place: Place) -> st.Block:
    """A block whose allocations and regions refer to the flat buffers; `place` gives an element's index.

    Its axes and its init stay. A view has the memory of another buffer only once it is lowered: `DiagnosticError`
    (`tir-view`).
    """
    if block.match_buffers:
        message = f"the block {block.name_hint} has views (match_buffer), which are not flat"
        raise fail("tir-view", message, span=block.span, help="run LowerMatchBuffer first")
    return block.with_fields(
        alloc_buffers=tuple(flattened(b) for b in block.alloc_buffers),
        reads=tuple(_flat_region(r, flattened(r.buffer), place) for r in block.reads),
        writes=tuple(_flat_region(w, flattened(w.buffer), place) for w in block.writes),
    )


def _flat_region(region: BufferRegion, flat: Buffer, place: Place) -> BufferRegion:
    """The range from the first element of a box to its last, including the elements between rows."""
    first = place(region.buffer, tuple(r.min for r in region.region))
    corner = tuple(ops.subtract(r.extent, 1) for r in region.region)
    distance = place(region.buffer.with_fields(elem_offset=None), corner)
    return BufferRegion(flat, (Range(first, ops.add(distance, 1)),))


def as_int64(expr: PrimExpr) -> PrimExpr:
    """An index in 64 bits."""
    return _of_type(expr, INT64)


def flat_buffer(buffer: Buffer) -> Buffer:
    """The same memory over one dim."""
    return Buffer(buffer.data, buffer.dtype, (element_count(buffer),), name=buffer.name)


def element_count(buffer: Buffer) -> PrimExpr:
    """The number of elements from the data pointer to the last element."""
    if not buffer.shape:
        return tir.IntImm(INT64, 1)
    if not buffer.strides:
        total: PrimExpr = tir.IntImm(INT64, 1)
        for dim in buffer.shape:
            total = ops.multiply(total, as_int64(dim))
    else:
        total = tir.IntImm(INT64, 1)
        for dim, stride in zip(buffer.shape, buffer.strides):
            total = ops.add(total, ops.multiply(ops.subtract(as_int64(dim), 1), as_int64(stride)))
    if buffer.elem_offset is not None:
        total = ops.add(total, as_int64(buffer.elem_offset))
    return total


def flat_index(buffer: Buffer, indices: tuple[PrimExpr, ...], dtype: DataType = INT64) -> PrimExpr:
    """The offset in elements from the data pointer, computed in `dtype`."""
    strides: list[PrimExpr] = [_of_type(s, dtype) for s in buffer.strides]
    if not strides:
        step: PrimExpr = tir.IntImm(dtype, 1)
        for dim in reversed(buffer.shape):
            strides.insert(0, step)
            step = ops.multiply(step, _of_type(dim, dtype))
    total: PrimExpr = tir.IntImm(dtype, 0)
    if buffer.elem_offset is not None:
        total = _of_type(buffer.elem_offset, dtype)
    ramp: tir.Ramp | None = None
    for index, stride in zip(indices, strides):
        if isinstance(index, tir.Ramp) and ramp is None:
            total = ops.add(total, ops.multiply(_of_type(index.base, dtype), stride))
            ramp = tir.Ramp(tir.IntImm(dtype, 0), ops.multiply(_of_type(index.stride, dtype), stride), index.lanes)
        else:
            total = ops.add(total, ops.multiply(_of_type(index, dtype), stride))
    if ramp is None:
        return total
    if total.dtype.lanes > 1:
        return ops.add(total, ramp)
    return tir.Ramp(total, ramp.stride, ramp.lanes)


def _of_type(expr: PrimExpr, dtype: DataType) -> PrimExpr:
    return ops.cast(dtype.with_lanes(expr.dtype.lanes), expr)
