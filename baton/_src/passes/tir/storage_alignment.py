"""Align the rows of buffers as blocks request by the annotation `buffer_dim_align`.

    T.block_attr({"buffer_dim_align": [[0, 0, 8, 1]]}); C: (4, 8)       ->      C has the strides (9, 1)

Each entry is [index among the buffers that the block writes, axis, factor, offset]: the stride of the axis is `offset`
modulo `factor`. `Schedule.storage_align` writes it. Tensors that packed functions are given without
strides stay compact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.block_annotations import BUFFER_DIM_ALIGN
from baton._src.tir.buffer import Buffer
from baton._src.tir.packed_calls import TensorOperand, is_packed_call, read_packed_call

Alignment = dict[int, tuple[int, int]]
"""Of axes: a factor and an offset each."""


def alignments(body: st.Stmt) -> dict[tir.Var, Alignment]:
    """The alignments that the blocks in `body` request, by the pointer of the buffer. Entries for axes or buffers that
    later steps removed are ignored: alignment changes no result.
    """
    found: dict[tir.Var, Alignment] = {}
    blocks = [block for block in _blocks(body) if BUFFER_DIM_ALIGN in block.annotations]
    compact = _given_as_compact(body) if blocks else set()
    for block in blocks:
        for buffer, axis, factor, offset in _entries(block):
            if 0 <= axis < len(buffer.shape) and factor > 0 and buffer.data not in compact:
                found.setdefault(buffer.data, {})[axis] = (factor, offset)
    return found


def _given_as_compact(body: st.Stmt) -> set[PrimExpr]:
    """The pointers of tensors that packed functions are given, as rows without gaps."""
    calls = (read_packed_call(n) for n in post_order(body) if is_packed_call(n))
    tensors = (o for call in calls for o in call.operands if isinstance(o, TensorOperand))
    return {tensor.data for tensor in tensors if not tensor.strides}


def _blocks(body: st.Stmt) -> list[st.Block]:
    return [n for n in st.statements(body) if isinstance(n, st.Block)]


def _entries(block: st.Block) -> Iterator[tuple[Buffer, int, int, int]]:
    for entry in block.annotations[BUFFER_DIM_ALIGN]:
        index, axis, factor, offset = (int(getattr(n, "value", n)) for n in entry)
        if index < len(block.writes):
            yield block.writes[index].buffer, axis, factor, offset


def aligned_strides(shape: tuple[PrimExpr, ...], alignment: Alignment) -> tuple[PrimExpr, ...]:
    """The smallest strides of `shape` with these alignments."""
    strides: list[PrimExpr] = []
    step: PrimExpr = tir.literal(1, shape[0].dtype)
    simplify = Analyzer().simplify
    for axis in reversed(range(len(shape))):
        if axis in alignment:
            factor, offset = alignment[axis]
            gap = ops.floormod(ops.subtract(offset, step), tir.literal(factor, step.dtype))
            step = simplify(ops.add(step, gap))
        strides.insert(0, step)
        step = simplify(ops.multiply(step, shape[axis]))
    return tuple(strides)


def with_aligned_buffers(body: st.Stmt) -> st.Stmt:
    """`body` with the requested strides in the buffers that its blocks allocate."""
    wanted = alignments(body)
    if not wanted:
        return body
    changed: dict[Any, Any] = {}
    for block in _blocks(body):
        for buffer in block.alloc_buffers:
            if buffer.data in wanted and not buffer.strides:
                strides = aligned_strides(buffer.shape, wanted[buffer.data])
                changed[buffer] = buffer.with_fields(strides=strides)
    found: st.Stmt = substitute(body, changed) if changed else body
    return found
