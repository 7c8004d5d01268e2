"""Recurrent layers: each step's product is fused with the update of the states it feeds, over blocks of hidden units.

    for t: for b, n: sums[b, n] = sum over k of states[.., b, k] * W[k, n]          n = gate * size + unit
           for b, j: ... = f(sums[b, j], sums[b, size + j], ...)
->
    for t: for block of units in parallel: all gates of the block in registers while k runs; then f for the block

Threads synchronise after every product, since the next one reads all results. The blocks are divided equally among
threads, so that each core keeps its part of the weights in its own cache from step to step. Constant weights are packed
at compile time (`lower/pack_weights`) as P[unit // width, k, gate, unit % width], so that a block reads one stream.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.products.packed_streams import streaming_grain
from baton._src.lower.kernel_schedules.products.packed_weights import Weight, is_whole
from baton._src.lower.kernel_schedules.recurrence_parts import Part, find_recurrence, gate_of_load
from baton._src.lower.kernel_schedules.shared.factors import bound, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    PARALLEL,
    VECTORIZED,
    allocated,
    constant,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Declined, read_kernel
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

ACCUMULATORS = 8
"""Vectors of sums that hide the latency of a multiply-add at one per cycle."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    found = find_recurrence(kernel)
    if found is None:
        return Declined("no loop over steps of products and updates")
    time = found.steps.loop_var
    body = sequence(*(stmt for part in found.parts for stmt in _Blocks(part, time, target).statements()))
    steps = found.steps.with_fields(body=body)
    return kernel.rebuilt(sequence(*found.before, steps, *found.after))


def packable_gates(func: PrimFunc, target: Target) -> Weight | None:
    """Return the first weight of a recurrence in `func` that is a matrix parameter, if there is one."""
    kernel = read_kernel(func)
    found = None if isinstance(kernel, Declined) else find_recurrence(kernel)
    inputs = [func.buffer_map.get(p) for p in func.params]
    for part in found.parts if found is not None else ():
        load = load_of(part.right)
        plain = is_whole(load, part.k, part.columns) and load.indices[0] is part.k.var
        if plain and load.buffer in inputs:
            width = _lanes(part, target) * _vectors(part, target)
            return Weight(inputs.index(load.buffer), load.buffer, load, False, width, part.gates)
    return None


def _lanes(part: Part, target: Target) -> int:
    return max(2, target.lanes(part.sums.dtype.bits))


def _vectors(part: Part, target: Target) -> int:
    """Vectors of units in a block: with all gates, enough sums to hide the latency of a multiply-add."""
    return max(1, min(ACCUMULATORS // part.gates, -(-part.size // _lanes(part, target))))


class _Blocks:
    """Builds the loops of one part of the recurrence."""

    def __init__(self, part: Part, time: tir.Var, target: Target) -> None:
        self.part, self.time, self.target = part, time, target
        self.lanes = _lanes(part, target)
        self.packed = part.packed_width
        self.width = self.packed or self.lanes * _vectors(part, target)
        self.batch = part.rows.size
        registers = target.cpu.vector_registers // 2  # the other registers hold weights and states
        self.tall = max(1, registers * self.lanes // (part.gates * self.width))

    def statements(self) -> list[st.Stmt]:
        """All full blocks in parallel, then the remaining units."""
        part = self.part
        full, rest = divmod(part.size, self.width)
        found: list[st.Stmt] = []
        if full:
            vectors = part.gates * self.width // self.lanes
            work = (part.k.size or part.size) * vectors * (self.batch or 1)
            found.append(self.pieces(full, min(full, streaming_grain(full, work, self.target))))
        if rest:
            found.append(self.block(i64(full), rest))
        return found

    def pieces(self, blocks: int, each: int) -> st.Stmt:
        """All full blocks, `each` per thread: forwards in one step, backwards in the next.

        Otherwise weights that slightly exceed a cache would evict each other before they are read again.
        """
        piece, place = index_var("piece"), index_var("block")
        count = -(-blocks // each)
        first = ops.multiply(piece, i64(each))
        here = i64(each) if blocks % each == 0 else ops.min(i64(each), ops.subtract(i64(blocks), first))
        back = ops.subtract(ops.subtract(here, i64(1)), place)
        even = tir.EQ(ops.floormod(as_int64(self.time), i64(2)), i64(0))
        number = tir.Var("number", "int64")
        chosen = ops.add(first, tir.Select(even, place, back))
        body = loop(place, here, st.LetStmt(number, chosen, self.block(number, self.width)))
        if count == 1 or self.target.num_cores == 1:
            return loop(piece, count, body)
        return loop(piece, count, body, PARALLEL, grain=1)

    def block(self, number: PrimExpr, width: int) -> st.Stmt:
        """The first `width` units of a block, for all rows, a few at a time."""
        if self.batch is not None and self.batch <= self.tall:
            return self.tile(i64(0), self.batch, number, width)
        every, tall = as_int64(self.part.rows.extent), i64(self.tall)
        tile, single = index_var("tile"), index_var("row")
        count = ops.floordiv(every, tall)
        done = ops.multiply(count, tall)
        main = loop(tile, count, self.tile(ops.multiply(tile, tall), self.tall, number, width))
        rest = ops.subtract(every, done)
        if constant(rest) == 0:
            return main
        return sequence(main, loop(single, rest, self.tile(ops.add(done, single), 1, number, width)))

    def tile(self, first: PrimExpr, rows: int, number: PrimExpr, width: int) -> st.Stmt:
        """`rows` rows of a block: accumulate all gates over k, then apply the update."""
        part = self.part
        start = ops.multiply(number, i64(self.width))
        padded = -(-width // self.lanes) * self.lanes
        acc = local_buffer("acc", (rows * part.gates * padded,), part.sums.dtype)
        summed = padded if self.packed else width

        def slot(row: int, gate: int, lane: PrimExpr) -> PrimExpr:
            return ops.add(i64((row * part.gates + gate) * padded), lane)

        def term(row: int, gate: int, lane: PrimExpr) -> PrimExpr:
            at = slot(row, gate, lane)
            left = bound(part.left, {part.rows: ops.add(first, i64(row))})
            return tir.Add(tir.BufferLoad(acc, (at,)), tir.Mul(left, self.weight(gate, number, start, lane)))

        def each(value: Callable[[int, int, PrimExpr], PrimExpr]) -> st.Stmt:
            parts = []
            for gate in range(part.gates):
                for row in range(rows):
                    lane = index_var("v")
                    store = st.BufferStore(acc, value(row, gate, lane), (slot(row, gate, lane),))
                    parts.append(loop(lane, summed, store, VECTORIZED))
            return sequence(*parts)

        zero = ops.const(0, acc.dtype)
        k = tir.Var(part.k.var.name, part.k.var.dtype)
        product = substitute_and_fold(each(term), {part.k.var: k})
        parts = [each(lambda row, gate, lane: zero), loop(k, part.k.extent, product)]
        if self.batch == 1:
            parts += [
                self.store(s, i64(0), start, width, lambda gate, lane: _at(acc, slot(0, gate, lane)))
                for s in part.stores
            ]
        else:
            parts += self.through_memory(acc, slot, first, rows, start, width)
        return allocated(acc, sequence(*parts))

    def weight(self, gate: int, number: PrimExpr, start: PrimExpr, lane: PrimExpr) -> PrimExpr:
        """The weights of one gate for the units of a block."""
        part = self.part
        if not self.packed:
            column = ops.add(ops.add(i64(gate * part.size), start), lane)
            return bound(part.right, {part.columns: column})
        buffer = load_of(part.right).buffer

        def rule(node: Node) -> Node | None:
            if isinstance(node, tir.BufferLoad):
                return tir.BufferLoad(buffer, (number, as_int64(part.k.var), i64(gate), lane))
            return None

        found: PrimExpr = rewrite(part.right, rule)
        return found

    def through_memory(
        self,
        acc: Buffer,
        slot: Callable[[int, int, PrimExpr], PrimExpr],
        first: PrimExpr,
        rows: int,
        start: PrimExpr,
        width: int,
    ) -> list[st.Stmt]:
        """Store the sums to their buffer, so that the update is a loop over rows instead of a copy per row."""
        part = self.part
        parts: list[st.Stmt] = []
        for row in range(rows):
            for gate in range(part.gates):
                lane = index_var("v")
                column = ops.add(ops.add(i64(gate * part.size), start), lane)
                at = (ops.add(first, i64(row)), column)
                store = st.BufferStore(part.sums, _at(acc, slot(row, gate, lane)), at)
                parts.append(loop(lane, width, store, VECTORIZED))
        row_var = index_var("row")
        here = ops.add(first, row_var)

        def sum_at(gate: int, lane: PrimExpr) -> PrimExpr:
            column = ops.add(ops.add(i64(gate * part.size), start), lane)
            return tir.BufferLoad(part.sums, (here, column))

        updates = [self.store(s, here, start, width, sum_at) for s in part.stores]
        return [*parts, loop(row_var, rows, sequence(*updates))]

    def store(
        self,
        store: st.BufferStore,
        row: PrimExpr,
        start: PrimExpr,
        width: int,
        sum_at: Callable[[int, PrimExpr], PrimExpr],
    ) -> st.Stmt:
        """One store of the update for `width` units."""
        part, lane = self.part, index_var("v")

        def rule(node: Node) -> Node | None:
            if isinstance(node, tir.BufferLoad) and node.buffer is part.sums:
                gate = gate_of_load(node, part)
                assert gate is not None
                return sum_at(gate, lane)
            return None

        places = {part.update_row: row, part.unit.var: ops.add(start, lane)}
        moved = substitute_and_fold(rewrite(store, rule), places)
        return loop(lane, width, moved, VECTORIZED)


def _at(buffer: Buffer, index: PrimExpr) -> PrimExpr:
    return tir.BufferLoad(buffer, (index,))
