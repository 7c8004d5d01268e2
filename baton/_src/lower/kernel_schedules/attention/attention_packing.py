"""Keys and values of a block, packed into panels as register tiles read them."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.attention.attention_parts import Block, read_at
from baton._src.lower.kernel_schedules.shared.affine import step
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    i64,
    index_var,
    loop,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.register_shuffles import square
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st


def pack_keys(block: Block) -> st.Stmt:
    """packed[p, d, v] = K[start + p * width + v, d]; the last key once more where there are no more."""
    found, lanes, width = block.found, block.shape.lanes, block.width
    inner = found.inner.size or 1
    last = ops.subtract(as_int64(found.key.extent), i64(1))
    exact = block.single and found.key.size is not None and found.key.size % width == 0
    panel = index_var("panel")

    def key(at: PrimExpr) -> PrimExpr:
        place = ops.add(block.start, at)
        return place if exact else ops.min(place, last)

    load = load_of(found.keys)
    along_head = step(load, found.inner) == 1 and load is found.keys and load.dtype.bits in (32, 64)
    if along_head and inner % lanes == 0 and load.indices[-1] is found.inner.var:
        part, begin = index_var("part"), index_var("d")
        top = ops.add(ops.multiply(panel, i64(width)), ops.multiply(part, i64(lanes)))
        left = ops.multiply(begin, i64(lanes))
        run = tir.Ramp(left, i64(1), lanes)
        line = tir.Ramp(ops.multiply(part, i64(lanes)), i64(1), lanes)

        def source(number: int) -> PrimExpr:
            at = read_at(load, {found.key.var: key(ops.add(top, i64(number)))})
            assert isinstance(at, tir.BufferLoad)
            return tir.BufferLoad(at.buffer, (*at.indices[:-1], run))

        def store(number: int, vector: tir.Var) -> st.Stmt:
            return st.BufferStore(block.packed_keys, vector, (panel, ops.add(left, i64(number)), line))

        squares = square(source, store, lanes)
        return loop(panel, block.panels, loop(part, width // lanes, loop(begin, inner // lanes, squares)))
    d, lane = index_var("d"), index_var("v")
    value = found.key_at(key(ops.add(ops.multiply(panel, i64(width)), lane)), d)
    element = st.BufferStore(block.packed_keys, value, (panel, d, lane))
    if not exact and step(load, found.key) == 1:  # whole vectors, but for the last panel
        free = found.key_at(ops.add(block.start, ops.add(ops.multiply(panel, i64(width)), lane)), d)
        inside = tir.LE(ops.multiply(ops.add(panel, i64(1)), i64(width)), block.count)
        whole = loop(lane, width, st.BufferStore(block.packed_keys, free, (panel, d, lane)), VECTORIZED)
        other = index_var("v")
        single = loop(other, width, substitute_and_fold(element, {lane: other}))
        return loop(panel, block.panels, loop(d, inner, st.IfThenElse(inside, whole, single)))
    return loop(panel, block.panels, loop(d, inner, loop(lane, width, element, VECTORIZED)))


def pack_values(block: Block) -> st.Stmt:
    """packed[p, j, v] = V[start + j, p * width + v], zeros beyond the last column."""
    found, width = block.found, block.width
    size = found.column.size or 1
    parts = []
    for number in range(block.columns):
        at, lane = index_var("j"), index_var("v")
        wide = min(width, size - number * width)
        value = found.value_at(ops.add(block.start, at), ops.add(i64(number * width), lane))
        body = loop(lane, wide, st.BufferStore(block.packed_values, value, (i64(number), at, lane)), VECTORIZED)
        if wide < width:
            over = index_var("v")
            zero = ops.const(0, block.packed_values.dtype)
            fill = st.BufferStore(block.packed_values, zero, (i64(number), at, ops.add(over, i64(wide))))
            body = sequence(body, loop(over, width - wide, fill, VECTORIZED))
        parts.append(loop(at, block.count, body))
    return sequence(*parts)
