"""A test of many elements at once, in kernels that look for the rare one: blocks without it cost one comparison.

any_lane(lambda lane: x[first + lane] > bound, lambda found: when(found, ...))
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, local, store
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.builders.system_calls import vectorhigh, vectorlow
from baton._src.tir.stmt import For, ForKind, Stmt

LANES = 16
"""Elements of a block; a power of 2."""


def any_lane(test: Callable[[tir.Var], PrimExpr], use: Callable[[PrimExpr], Stmt]) -> Stmt:
    """`use(found)`, where `found` says whether `test` holds for any of `LANES` lanes. All of them are tested."""
    lane, zero = tir.Var("lane", "int64"), k.index(0)

    def with_flags(flags: Buffer) -> Stmt:
        flag = k.select(test(lane), k.const(1, "int32"), k.const(0, "int32"))
        compare = For(lane, zero, k.index(LANES), ForKind.VECTORIZED, store(flags, [lane], flag))
        found: PrimExpr = tir.BufferLoad(flags, (tir.Ramp(zero, k.index(1), LANES),))
        while found.dtype.lanes > 1:
            half = found.dtype.with_lanes(found.dtype.lanes // 2)
            found = vectorlow(half, found) | vectorhigh(half, found)
        return both(compare, use(tir.NE(found, k.const(0, "int32"))))

    return local("flags", (LANES,), "int32", with_flags)
