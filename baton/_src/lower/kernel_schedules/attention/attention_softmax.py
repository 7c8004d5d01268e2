"""The softmax of a block of attention's scores: powers in place of them, each row's maximum and sum.

With more keys than one block, the running maximum and sum are kept (`attention_blocks`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.attention.attention_parts import Block
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import intrinsic

SIDE_BY_SIDE = 8
"""Vectors of powers that are computed together: more do not stay in registers."""
LOWEST = {
    "float16": -65504.0, "bfloat16": -3.3895313892515355e38,
    "float32": -3.4028234663852886e38, "float64": -1.7976931348623157e308,
}  # fmt: skip
"""The least number of a float: where maxima begin, as -inf less -inf were NaN."""


def softmax(block: Block, rows: int, local: PrimExpr) -> st.Stmt:
    """Powers in place of scores; the rows' sums, and by how much earlier ones shrink."""
    dtype = block.strip.dtype
    lowest, nought = tir.literal(LOWEST[dtype], dtype), ops.const(0, dtype)

    def top(row: PrimExpr) -> PrimExpr:
        return tir.BufferLoad(block.top, (row,))

    def power(row: PrimExpr, at: PrimExpr) -> tuple[tuple[st.Stmt, ...], PrimExpr]:
        here = tir.BufferLoad(block.strip, (row, at))
        return (st.BufferStore(block.strip, _exp(tir.Sub(here, top(row))), (row, at)),), here

    find = _fold(block, rows, lowest, tir.Max, lambda row, at: ((), tir.BufferLoad(block.strip, (row, at))), block.top)
    add = _fold(block, rows, nought, tir.Add, power, block.share)
    if block.single:  # a row of -inf alone gives NaN, as it should
        return sequence(find, add)
    row, other = index_var("row"), index_var("row")
    total = tir.BufferLoad(block.share, (other,))
    # The running maximum is never -inf: rows whose first keys are all masked out must not become NaN.
    old = tir.BufferLoad(block.tops, (ops.add(local, row),))
    tops = [
        st.BufferStore(block.top, tir.Max(old, top(row)), (row,)),
        st.BufferStore(block.shrink, _exp(tir.Sub(old, top(row))), (row,)),
        st.BufferStore(block.tops, top(row), (ops.add(local, row),)),
    ]
    kept = (ops.add(local, other),)
    sum_so_far = tir.Mul(tir.BufferLoad(block.totals, kept), tir.BufferLoad(block.shrink, (other,)))
    totals = st.BufferStore(block.totals, tir.Add(sum_so_far, total), kept)
    return sequence(find, loop(row, rows, sequence(*tops), VECTORIZED), add, loop(other, rows, totals, VECTORIZED))


def _exp(value: PrimExpr) -> PrimExpr:
    """Of a score and one at least as great. The row's sum is at least 1, so that a subnormal power may count as 0."""
    return tir.Call(value.dtype, intrinsic("exp_flushed"), (value,))


def _fold(
    block: Block,
    rows: int,
    initial: PrimExpr,
    combiner: Callable[[PrimExpr, PrimExpr], PrimExpr],
    body: Callable[[PrimExpr, PrimExpr], tuple[tuple[st.Stmt, ...], PrimExpr]],
    result: Buffer,
) -> st.Stmt:
    """result[row] = fold of `body(row, at) -> (statements before, value)` over the strip, several rows side by side:
    one alone would wait for itself.
    """
    most = max(1, SIDE_BY_SIDE * block.shape.lanes // block.width)
    beside = next(n for n in (4, 3, 2, 1) if rows % n == 0 and n <= most)
    width, panel, group = block.width, index_var("panel"), index_var("rows")
    part = local_buffer("part", (beside * width,), block.strip.dtype)
    numbers = [ops.add(ops.multiply(group, i64(beside)), i64(n)) for n in range(beside)]

    def each(wide: int, statement: Callable[[int, PrimExpr], st.Stmt]) -> st.Stmt:
        lanes = [index_var("v") for _ in range(beside)]
        kind = VECTORIZED if wide > 1 else st.ForKind.UNROLLED
        return sequence(*(loop(v, wide, statement(n, v), kind, lanes=wide) for n, v in enumerate(lanes)))

    def at(number: int, lane: PrimExpr) -> tuple[PrimExpr, ...]:
        return (ops.add(i64(number * width), lane),)

    def update(number: int, lane: PrimExpr) -> st.Stmt:
        before, value = body(numbers[number], ops.add(ops.multiply(panel, i64(width)), lane))
        folded = combiner(tir.BufferLoad(part, at(number, lane)), value)
        return sequence(*before, st.BufferStore(part, folded, at(number, lane)))

    def halved(half: int, number: int, lane: PrimExpr) -> st.Stmt:
        upper = tir.BufferLoad(part, at(number, ops.add(lane, i64(half))))
        return st.BufferStore(part, combiner(tir.BufferLoad(part, at(number, lane)), upper), at(number, lane))

    steps = [each(width, lambda n, v: st.BufferStore(part, initial, at(n, v)))]
    steps.append(loop(panel, block.panels, each(width, update)))
    left = width
    while left > 1:
        half = 1 << ((left - 1).bit_length() - 1)  # NEON's panels are three vectors
        steps.append(each(left - half, partial(halved, half)))
        left = half
    for number, row in enumerate(numbers):
        steps.append(st.BufferStore(result, tir.BufferLoad(part, at(number, i64(0))), (row,)))
    return loop(group, rows // beside, allocated(part, sequence(*steps)))
