"""One row of a depthwise window over a tile of a blocked convolution.

Each input of the row is loaded once for all its taps, whose weights stay in registers. (With a loop over the taps each
input would be loaded once per tap; LLVM unrolls short loops, shares their loads, and runs out of registers.)
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv
from baton._src.lower.kernel_schedules.convolution.blocked.tiles import Place, Stream, Tile
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import i64, sequence
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer


def taps_at_once(taps: int, vectors: int, registers: int) -> int:
    """Of a row of the window, how many have their weights in registers at a time: a quarter of these at most."""
    most = max(1, registers // (4 * vectors))
    return -(-taps // -(-taps // most))


def depthwise_row(conv: BlockedConv, tile: Tile, acc: Buffer, place: Place, start: PrimExpr) -> st.Stmt:
    """The multiply-adds of a tile with all taps of a row of the window, a few of them at a time."""
    parts = []
    for first in range(0, len(tile.seen), place.taps):
        taps = range(first, min(first + place.taps, len(tile.seen)))
        if any(tile.seen[tap][0] < tile.seen[tap][1] for tap in taps):
            parts.append(_taps(conv, tile, acc, place, start, taps))
    return sequence(*parts) if parts else st.Evaluate(tir.IntImm("int32", 0))


def _taps(conv: BlockedConv, tile: Tile, acc: Buffer, place: Place, start: PrimExpr, taps: range) -> st.Stmt:
    columns, lanes = conv.columns, conv.width
    where: dict[tir.Var, PrimExpr] = {columns.axis.var: start, conv.blocks.var: place.block}
    if conv.rows is not None and place.row is not None:
        where[conv.rows.axis.var] = place.row
    if columns.tap is not None:
        where[columns.tap.var] = tir.IntImm(columns.tap.var.dtype, 0)
    data, weight = Stream.of(conv.data, where, conv), Stream.of(load_of(conv.weight), where, conv)
    weights = {tap: tir.Var(f"w{tap}", conv.weight.dtype.with_lanes(lanes)) for tap in taps}
    seeing: dict[int, list[tuple[int, int]]] = {}
    for tap in taps:
        for point in range(*tile.seen[tap]):
            seeing.setdefault(point * columns.stride + tap * columns.dilation, []).append((point, tap))

    def term(point: int, tap: int, seen: PrimExpr) -> st.Stmt:
        at = tir.Ramp(i64(point * lanes), i64(1), lanes)
        total = tir.Add(tir.BufferLoad(acc, (at,)), tir.Mul(seen, ops.cast(acc.dtype.with_lanes(lanes), weights[tap])))
        return st.BufferStore(acc, total, (at,))

    parts = []
    for distance, users in sorted(seeing.items()):
        seen = tir.Var("x", acc.dtype.with_lanes(lanes))
        value = ops.cast(seen.dtype, data.vector(distance * data.steps[2] // columns.stride, lanes))
        parts.append(st.LetStmt(seen, value, sequence(*(term(point, tap, seen) for point, tap in users))))
    body = sequence(*parts)
    for tap, var in reversed(weights.items()):
        body = st.LetStmt(var, ops.cast(var.dtype, weight.vector(tap * weight.tap, lanes)), body)
    return data.bound(weight.bound(body))
