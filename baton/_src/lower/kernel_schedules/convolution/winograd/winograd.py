"""Convolutions of 3 x 3 taps over blocked channels (NCHW16c) by Winograd's algorithm, weights transformed ahead.

    for blocks of tiles:                                      a tile: m x m results, (m + 2) x (m + 2) inputs
        V[e, c, t]  =  (B^T d B)[e]                           e: one of (m + 2)^2 elements; c: channel; t: tile
        for chunks of output channels:
            M[o, t, e]  =  sum over c of V[e, c, t] * U[e, c, o]         register tiles: tiles x channels
            Y tiles  =  A^T M A, through the epilogue

V and M of a block stay in L2. U is stored in the order it is read; each register tile of a panel prefetches its share
of the next panel, so that memory traffic is even. Padding is handled when tiles at the border are loaded; tiles that
cross the end are cut when stored. Threads share blocks of tiles, or, if there are too few blocks, tiles first and then
chunks of channels.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.winograd.plan import Winograd, rounded_up
from baton._src.lower.kernel_schedules.convolution.winograd.tiles import Elements, load_tile, store_tile
from baton._src.lower.kernel_schedules.products.tiles import Accumulators, unrolled_by
from baton._src.lower.kernel_schedules.shared.loops import (
    PARALLEL,
    SERIAL,
    UNROLLED,
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.prefetch import prefetched
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

PAD = 16
"""Elements between the planes of V, so that they start on different lines of the first-level cache."""


def emit(plan: Winograd, weight: Buffer) -> st.Stmt:
    """The loops, reading the transformed weights `weight`."""
    sizes, dtype = plan.sizes, plan.conv.anchored.stage.buffer.dtype
    outer, inner = plan.channels
    plane = outer * inner * sizes.tiles + PAD
    values = local_buffer("values", (plan.transform.products * plane,), dtype)
    elements = Elements(values, plane)
    block, tile, chunk = index_var("block"), index_var("tile"), index_var("chunk")
    blocks = rounded_up(plan.total, sizes.tiles)
    first = ops.multiply(block, i64(sizes.tiles))
    inside = PARALLEL if sizes.shared == "channels" else SERIAL
    number = ops.min(ops.add(first, tile), ops.subtract(plan.total, i64(1)))
    slots = ops.min(i64(sizes.tiles), ops.multiply(plan.groups(first), i64(sizes.rows)))
    transformed = loop(tile, slots, load_tile(plan, elements, number, tile), inside)
    chunks = loop(chunk, plan.chunks, _chunk(plan, elements, weight, chunk, first), inside)
    body = sequence(transformed, chunks)
    if sizes.shared == "tiles":
        return loop(block, blocks, allocated(values, body), PARALLEL, grain=1)
    return allocated(values, loop(block, blocks, body))


def _chunk(plan: Winograd, elements: Elements, weight: Buffer, chunk: tir.Var, first: PrimExpr) -> st.Stmt:
    """All products of a block of tiles and a chunk of channels, and their results."""
    sizes, width = plan.sizes, plan.conv.width
    products = local_buffer(
        "products", (sizes.blocks * sizes.tiles * plan.transform.products * width,), elements.buffer.dtype
    )
    element, panel, group = index_var("element"), index_var("panel"), index_var("group")
    start = ops.min(ops.multiply(group, i64(sizes.rows)), i64(sizes.tiles - sizes.rows))
    tile = _RegisterTile(plan, elements, weight, products, (chunk, element, panel), group, start).emit()
    every = loop(element, plan.transform.products, loop(panel, sizes.panels, loop(group, plan.groups(first), tile)))
    slot = index_var("slot")
    count = ops.min(i64(sizes.tiles), ops.subtract(plan.total, first))
    results = loop(slot, count, store_tile(plan, products, chunk, first, slot))
    return allocated(products, sequence(every, results))


class _RegisterTile:
    """Sums over all channels of one element: tiles from `start` on, by blocks of output channels side by side."""

    def __init__(
        self,
        plan: Winograd,
        elements: Elements,
        weight: Buffer,
        products: Buffer,
        where: tuple[tir.Var, tir.Var, tir.Var],
        group: tir.Var,
        start: PrimExpr,
    ) -> None:
        self.plan, self.elements, self.products, self.group, self.start = plan, elements, products, group, start
        self.chunk, self.element, self.panel = where
        self.weight = Buffer(weight.data, weight.dtype, (product(weight.shape),), name=weight.name)
        self.width, self.beside = plan.conv.width, plan.sizes.beside
        self.acc = Accumulators.of(plan.sizes.rows * self.beside, self.width, elements.buffer.dtype)
        self.base, self.own = index_var("base"), index_var("own")
        self.k = index_var("k")

    def emit(self) -> st.Stmt:
        (outer, inner), sizes = self.plan.channels, self.plan.sizes
        rows, c = index_var("rows"), index_var("c")
        number = ops.add(ops.multiply(self.chunk, i64(self.plan.transform.products)), self.element)
        number = ops.add(ops.multiply(number, i64(sizes.panels)), self.panel)
        place = ops.multiply(ops.add(ops.multiply(number, i64(outer)), c), i64(inner * self.beside * self.width))
        line = ops.add(ops.multiply(ops.multiply(c, i64(sizes.tiles)), i64(inner)), rows)
        step = sequence(self._asked(c), self._each(self._update))
        every = unrolled_by(sizes.channels, i64(inner), "k", lambda k: st.LetStmt(self.k, k, step))
        block = st.LetStmt(self.base, place, st.LetStmt(self.own, line, every))
        zeros = self.acc.each(lambda row, lane: ops.const(0, self.acc.buffer.dtype))
        body = sequence(zeros, loop(c, outer, block), self._each(self._write))
        at_rows = ops.multiply(self.element, i64(self.elements.plane))
        return st.LetStmt(
            rows, ops.add(at_rows, ops.multiply(self.start, i64(inner))), allocated(self.acc.buffer, body)
        )

    def _each(self, body: Callable[[PrimExpr, PrimExpr, tir.Var], st.Stmt]) -> st.Stmt:
        r, j, lane = index_var("r"), index_var("j"), index_var("v")
        vector = loop(lane, self.width, body(r, j, lane), VECTORIZED)
        return loop(r, self.plan.sizes.rows, loop(j, self.beside, vector, UNROLLED), UNROLLED)

    def _asked(self, c: tir.Var) -> st.Stmt:
        """Ask for a share of the next panel: the groups of tiles cut it evenly, each goes through its part."""
        (outer, inner), sizes, each = self.plan.channels, self.plan.sizes, self.beside * self.width
        share = max(1, each // -(-sizes.tiles // sizes.rows))
        panel = ops.subtract(self.base, ops.multiply(c, i64(inner * each)))
        step = ops.add(ops.multiply(ops.add(ops.multiply(self.group, i64(outer)), c), i64(inner)), self.k)
        at = ops.add(ops.add(panel, i64(outer * inner * each)), ops.multiply(step, i64(share)))
        return prefetched(tir.BufferLoad(self.weight, (at,)))

    def _sum(self, r: PrimExpr, j: PrimExpr) -> PrimExpr:
        return ops.add(ops.multiply(r, i64(self.beside)), j)

    def _update(self, r: PrimExpr, j: PrimExpr, lane: tir.Var) -> st.Stmt:
        row = ops.multiply(r, i64(self.plan.channels[1]))
        left = tir.BufferLoad(self.elements.buffer, (ops.add(ops.add(self.own, self.k), row),))
        column = ops.add(ops.multiply(j, i64(self.width)), lane)
        at = ops.add(self.base, ops.add(ops.multiply(self.k, i64(self.beside * self.width)), column))
        term = tir.Mul(left, tir.BufferLoad(self.weight, (at,)))
        n = self._sum(r, j)
        return st.BufferStore(self.acc.buffer, tir.Add(self.acc.load(n, lane), term), (self.acc.at(n, lane),))

    def _write(self, r: PrimExpr, j: PrimExpr, lane: tir.Var) -> st.Stmt:
        block = ops.add(ops.multiply(self.panel, i64(self.beside)), j)
        tile = ops.add(ops.multiply(block, i64(self.plan.sizes.tiles)), ops.add(self.start, r))
        at = ops.multiply(ops.add(ops.multiply(tile, i64(self.plan.transform.products)), self.element), i64(self.width))
        return st.BufferStore(self.products, self.acc.load(self._sum(r, j), lane), (ops.add(at, lane),))
