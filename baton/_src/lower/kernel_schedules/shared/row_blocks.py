"""Stages that share their leading axes, the row, computed for a few rows at a time: each stage for all of them.

    softmax over (n, k)   ->   for blocks of 4 rows: their maxima; their powers; their sums; their quotients

A stage of a single row waits for the one before: for the last lanes of its sum, and for stores that vectors at other
places, or masked ones, load again. Meanwhile the CPU computes the rows beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.shared.affine import merge_trailing
from baton._src.lower.kernel_schedules.shared.inline import expression_cost
from baton._src.lower.kernel_schedules.shared.kept_in_result import kept_in_result
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    ceil_div,
    constant,
    i64,
    index_var,
    loop,
    named,
    nest,
    parallel_rows,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Stage
from baton._src.lower.kernel_schedules.shared.vector_reduce import reduction
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, constant_shape

BESIDE = 4
"""Rows of a block."""
LONG = 4096
"""Points of a stage that a block has at most, if it has several rows: long rows have enough to do by themselves."""
ROW_BYTES = 1 << 15
"""Largest row buffer kept on the stack; larger or symbolic ones are ordinary buffers that hold all rows."""


def blocks_of_rows(stages: Sequence[Stage], depth: int, kernel: Kernel, target: Target) -> st.Stmt:
    """A loop over blocks of rows (the `depth` leading axes of all stages) that runs all stages for each."""
    rows = stages[0].spatial[:depth]
    at = max((n for n, axis in enumerate(rows) if axis.size != 1), default=depth - 1)
    kept = kept_in_result(stages, kernel) if _is_longer_than_a_vector(stages[-1], depth, target) else None
    most = tuned("rows_beside", BESIDE, (1, 2, 4, 8))
    beside = _beside(stages, depth, most)
    own = _own_rows(stages, depth, kernel, kept, constant(beside) or most, target)

    def loops(beside: PrimExpr) -> st.Stmt:
        block, extent = index_var("block"), as_int64(rows[at].extent)
        start = ops.multiply(block, beside)
        count = ops.min(beside, ops.subtract(extent, start))
        parts: list[st.Stmt] = []
        work: PrimExpr = i64(0)
        for stage in stages:
            place, row = index_var("row"), Axis(tir.Var(rows[at].var.name, rows[at].var.dtype), rows[at].extent)
            here = (*rows[:at], row, *rows[at + 1 :])
            small = {buffer: row_view(held, (place,)) for buffer, held in own.items()}
            if kept is not None:
                small[kept] = row_view(stages[-1].buffer, tuple(axis.var for axis in here))
            part = _row_part(_on_row(stage, here, small), target)
            parts.append(loop(place, count, st.LetStmt(row.var, ops.cast(row.var.dtype, ops.add(start, place)), part)))
            work = ops.add(work, stage_work(stage, depth))
        body = sequence(*parts)
        for held in own.values():
            body = allocated(held, body)
        blocks = (*rows[:at], Axis(block, ceil_div(extent, beside)), *rows[at + 1 :])
        return parallel_rows(blocks, ops.multiply(work, beside), body, target.num_cores)

    return named("beside", beside, loops)


def _beside(stages: Sequence[Stage], depth: int, most: int) -> PrimExpr:
    """The number of rows of a block, `most` of short ones."""
    points = [product([a.extent for a in (*stage.spatial[depth:], *stage.reduce)]) for stage in stages]
    longest = reduce(ops.max, [*points, i64(1)])
    return ops.max(i64(1), ops.min(i64(most), ops.floordiv(i64(LONG), longest)))


def _is_longer_than_a_vector(stage: Stage, depth: int, target: Target) -> bool:
    """Whether rows are: of a shorter one, a masked vector, an intermediate is read again at once, which waits for
    stores to the result but not for those of whole vectors to a memory of its own.
    """
    size = constant(product([a.extent for a in stage.spatial[depth:]]))
    return size is None or size > target.lanes(stage.buffer.dtype.bits)


def _own_rows(
    stages: Sequence[Stage], depth: int, kernel: Kernel, kept: Buffer | None, count: int, target: Target
) -> dict[Buffer, Buffer]:
    """Memory for so many rows, by buffers that only these stages use and whose rows are small, but for `kept`."""
    outside: set[Buffer] = set()
    for stage in kernel.stages:
        if stage not in stages:
            outside |= stage.reads | stage.writes
    own = {}
    for buffer in (stage.buffer for stage in stages):
        if buffer in kernel.local and buffer not in outside and buffer is not kept:
            if row_bytes(buffer, depth) <= ROW_BYTES:
                pointer = tir.Var(buffer.name, "handle", pointee=buffer.dtype, scope="local")
                shape = (i64(count), *_in_whole_vectors(buffer.shape[depth:], target.lanes(buffer.dtype.bits)))
                own[buffer] = Buffer(pointer, buffer.dtype, shape, name=buffer.name)
    return own


def _in_whole_vectors(shape: Sequence[PrimExpr], lanes: int) -> Sequence[PrimExpr]:
    """The shape of a row that is a line of known length, as far as its last vector reaches."""
    size = constant(shape[0]) if len(shape) == 1 else None
    return shape if size is None else (i64(-(-size // lanes) * lanes),)


def _row_part(stage: Stage, target: Target) -> st.Stmt:
    if stage.reduce:
        return reduction(stage, target)
    merged = merge_trailing(stage)
    store = st.BufferStore(merged.buffer, merged.value, merged.indices)
    if not merged.spatial:
        return store
    last = merged.spatial[-1]
    return nest(merged.spatial[:-1], loop(last.var, last.extent, store, VECTORIZED))


def _on_row(stage: Stage, rows: tuple[Axis, ...], small: dict[Buffer, Buffer]) -> Stage:
    """The stage over the given row variables, with private buffers narrowed to one row."""
    depth = len(rows)
    bound = {own.var: row.var for own, row in zip(stage.spatial, rows)}

    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad) and node.buffer in small:
            return tir.BufferLoad(small[node.buffer], node.indices[depth:] or (i64(0),))
        return None

    value = rewrite(substitute_and_fold(stage.value, bound), rule)
    buffer = small.get(stage.buffer) or row_view(stage.buffer, tuple(row.var for row in rows))
    return replace(stage, buffer=buffer, spatial=stage.spatial[depth:], value=value)


def row_view(buffer: Buffer, row: tuple[PrimExpr, ...]) -> Buffer:
    """A view of one row of a buffer: the leading indices become an offset."""
    offset: PrimExpr = i64(0) if buffer.elem_offset is None else as_int64(buffer.elem_offset)
    for place, index in enumerate(row):
        stride = as_int64(buffer.strides[place]) if buffer.strides else product(buffer.shape[place + 1 :])
        offset = ops.add(offset, ops.multiply(as_int64(index), stride))
    shape = buffer.shape[len(row) :] or (i64(1),)
    return Buffer(buffer.data, buffer.dtype, shape, buffer.strides[len(row) :], offset, buffer.name)


def row_bytes(buffer: Buffer, depth: int) -> float:
    """The bytes of a row below `depth` leading axes, infinite for one of open size."""
    shape = constant_shape(Buffer(buffer.data, buffer.dtype, buffer.shape[depth:]))
    return math.inf if shape is None else math.prod(shape) * buffer.dtype.itemsize


def stage_work(stage: Stage, depth: int) -> PrimExpr:
    """Roughly how many instructions one row takes, in units of a quarter vector."""
    inner = product([a.extent for a in (*stage.spatial[depth:], *stage.reduce)])
    each = max(1, (expression_cost(stage.value) + len(stage.loads)) // 4)
    return ops.multiply(inner, i64(each))
