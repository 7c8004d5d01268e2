"""Weights with their taps outermost, for transposed convolutions where each phase sees one tap.

    P[taps.., channels..] = W[channels.., taps..]

Where taps are innermost, the weights of one step are spread over many cache lines, of which it uses a few bytes: 6
lines for 11 weights of 2 x 2 x 2 taps. Here channels are contiguous, which takes 0.6 of the time (0.87 for 2 x 2 taps
of 256 channels).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.shared.affine import depends
from baton._src.lower.kernel_schedules.shared.loops import (
    UNROLLED,
    constant,
    i64,
    index_var,
    loop,
    parallel_rows,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.register_shuffles import MOST_DEINTERLEAVED, deinterleave
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import flat_buffer
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, decl_buffer


@dataclass(frozen=True, eq=False)
class MovedWeight:
    """The load in place of the weight's, and the loops that write what it loads."""

    load: tir.BufferLoad
    written: st.Stmt


def with_taps_outermost(weight: tir.BufferLoad, taps: Sequence[Axis], target: Target) -> MovedWeight | None:
    """The weight with its taps outermost; None where they are not innermost, or there is one only."""
    dims = [constant(dim) for dim in weight.buffer.shape]
    place = len(dims) - len(taps)
    if None in dims or not all(depends(i, t.var) for i, t in zip(weight.indices[place:], taps, strict=True)):
        return None
    count, channels = prod(d or 0 for d in dims[place:]), prod(d or 0 for d in dims[:place])
    if count < 2 or not channels:
        return None
    buffer = decl_buffer([*weight.buffer.shape[place:], *weight.buffer.shape[:place]], weight.dtype, "moved")
    load = tir.BufferLoad(buffer, (*weight.indices[place:], *weight.indices[:place]))
    return MovedWeight(load, _moving(flat_buffer(weight.buffer), flat_buffer(buffer), channels, count, target))


def _moving(source: Buffer, result: Buffer, channels: int, taps: int, target: Target) -> st.Stmt:
    """Vectors of channels at a time, taken apart by shuffles where taps are a power of two; then one by one."""
    lanes = target.lanes(source.dtype.bits)
    vectors = channels // lanes if taps & (taps - 1) == 0 and taps <= MOST_DEINTERLEAVED and lanes >= 4 else 0
    parts = []
    if vectors:
        block = index_var("block")
        first = ops.multiply(block, i64(lanes))
        runs = [
            tir.Ramp(ops.multiply(ops.add(ops.multiply(block, i64(taps)), i64(n)), i64(lanes)), i64(1), lanes)
            for n in range(taps)
        ]
        apart = deinterleave(
            [tir.BufferLoad(source, (run,)) for run in runs],
            lambda t, v: st.BufferStore(result, v, (tir.Ramp(ops.add(first, i64(t * channels)), i64(1), lanes),)),
        )
        parts.append(parallel_rows((Axis(block, i64(vectors)),), i64(2 * taps), apart, target.num_cores))
    if left := channels - vectors * lanes:
        channel, tap = index_var("channel"), index_var("tap")
        at = ops.add(channel, i64(vectors * lanes))
        value = tir.BufferLoad(source, (ops.add(ops.multiply(at, i64(taps)), tap),))
        store = st.BufferStore(result, value, (ops.add(ops.multiply(tap, i64(channels)), at),))
        each = loop(tap, taps, store, UNROLLED)
        parts.append(parallel_rows((Axis(channel, i64(left)),), i64(taps), each, target.num_cores))
    return sequence(*parts)
