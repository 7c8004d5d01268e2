"""Several partial sums per result where results are few: a single accumulator is limited by multiply-add latency."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, steps_of_k, unrolled_by
from baton._src.lower.kernel_schedules.shared.loops import VECTORIZED, i64, index_var, loop, sequence
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

ACCUMULATORS = 8
"""Vectors of sums that hide the latency of a multiply-add at two per cycle. More would start more loads at once, which
keep hardware from prefetching: with 16, weights that come from memory took 1.07 to 1.15 of the time (Zen 4).
"""
MOST_SUMS = 8
"""Most partial sums of one result."""


def sums_apart(results: int, depth: int) -> int:
    """The number of partial sums for each of that many vectors of results, given `depth` terms."""
    usual = min(MOST_SUMS, max(1, -(-ACCUMULATORS // results)))
    return min(depth, tuned("sums_apart", usual, (1, 2, 4, MOST_SUMS)))


def in_turns(depth: int, apart: int, update: Callable[[PrimExpr, int], st.Stmt]) -> list[st.Stmt]:
    """`update(k, part)` for every k, with the parts in round-robin order."""
    if apart == 1:
        return [unrolled_by(steps_of_k(), i64(depth), "k", lambda k: update(k, 0))]
    step, (full, rest) = index_var("k_o"), divmod(depth, apart)
    first = ops.multiply(step, i64(apart))
    parts = [loop(step, full, sequence(*(update(ops.add(first, i64(n)), n) for n in range(apart))))]
    return parts + [update(i64(full * apart + n), n) for n in range(rest)]


def added_up(acc: Accumulators, count: int) -> list[st.Stmt]:
    """Add the sums of all parts into the first `count` accumulator rows, by halves, so that the chain of additions is
    short.
    """
    added, parts = [], acc.rows // count
    while parts > 1:
        half = -(-parts // 2)
        for at in range((parts - half) * count):
            lane = index_var("v")
            total = tir.Add(acc.load(at, lane), acc.load(at + half * count, lane))
            added.append(loop(lane, acc.width, st.BufferStore(acc.buffer, total, (acc.at(at, lane),)), VECTORIZED))
        parts = half
    return added
