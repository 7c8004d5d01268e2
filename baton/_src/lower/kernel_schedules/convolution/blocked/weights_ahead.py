"""Weights of a blocked convolution are prefetched while the group of blocks before theirs is computed.

All tiles of a map with the same blocks of output channels read the same weights. The first of them would wait: it
multiplies faster than memory delivers. So each tile prefetches its share of the next group's weights, which then arrive
evenly. 512 to 2048 channels of 7 x 7 points take 0.8 of the time, F(4x4, 3x3) of 256 channels of 14 x 14 points
(`winograd` prefetches in the same way) 0.6. Where memory is far they come to the second-level cache only: ResNet-50 on
an Emerald Rapids Xeon takes 0.96 to 0.99 of the time.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv
from baton._src.lower.kernel_schedules.convolution.blocked.tiles import Place, Stream
from baton._src.lower.kernel_schedules.shared.loops import UNROLLED, i64, index_var, loop
from baton._src.lower.kernel_schedules.shared.prefetch import prefetched
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.values.aligned import LINE


def weight_prefetches(
    conv: BlockedConv, weight: Stream, begin: PrimExpr, place: Place, start: PrimExpr
) -> list[st.Stmt]:
    """Ask for this tile's share of the weights that the next group multiplies where this one is about to multiply
    those from `begin` on: of one tap, a block of input channels.
    """
    if place.turns is None or not conv.channels:
        return []
    elements = (conv.channels[-1].size or 0) * conv.width
    line = LINE * 8 // weight.buffer.dtype.bits
    lines, turns = elements // line, place.turns
    if not lines or elements % line:
        return []
    total = lines * place.blocks
    share = -(-total // turns.count)
    which = index_var("line")
    first = ops.floordiv(ops.multiply(turns.number(place.row, start), i64(total)), i64(turns.count))
    at = ops.min(ops.add(first, which), i64(total - 1))
    block = ops.add(ops.floordiv(at, i64(lines)), i64(place.blocks))
    distance = ops.add(ops.multiply(block, i64(weight.steps[0])), ops.multiply(ops.floormod(at, i64(lines)), i64(line)))
    asked = prefetched(tir.BufferLoad(weight.buffer, (ops.add(begin, distance),)), near=place.turns.near)
    return [loop(which, share, asked, UNROLLED)]
