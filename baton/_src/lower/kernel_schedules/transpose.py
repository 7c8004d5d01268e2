"""Transposes by shuffling squares of registers.

    B[.., i, .., j] = A[.., j, .., i]

A is contiguous along i and B along j. A square of `lanes` x `lanes` elements is loaded as whole vectors along i,
transposed in log2(lanes) steps that exchange halves, quarters, ... of pairs of vectors, and stored as whole vectors
along j. Loading along j instead would take one element at a time. Elements outside all squares are copied one by one.

Where the result has j = 2, 4 or 8 adjacent elements for each i, that many vectors along i are interleaved instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.shared.affine import depends, joined, merge_pair
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    i64,
    index_var,
    loop,
    nest,
    parallel_rows,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.reshaped import over_source_axes
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Stage, read_kernel
from baton._src.passes.tir.flatten_buffers import as_int64
from baton._src.passes.tir.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc

INTERLEAVED = (2, 4, 8)
"""Numbers of vectors that can be interleaved."""
MOST_DEINTERLEAVED = 16
"""Most vectors to deinterleave, so that they stay in registers."""


@dataclass(frozen=True)
class _Movement:
    """A stage that stores `load`; `across` is the axis the source is contiguous along, `along` the result's."""

    stage: Stage
    load: tir.BufferLoad
    across: Axis
    along: Axis
    lanes: int

    @property
    def others(self) -> tuple[Axis, ...]:
        return tuple(a for a in self.stage.spatial if a is not self.across and a is not self.along)

    def source(self, across: PrimExpr, along: PrimExpr) -> tir.BufferLoad:
        """The element (or vector) at the given positions on the two axes."""
        inner = {self.along.var: ops.cast(self.along.var.dtype, along)}
        indices = [substitute_and_fold(i, inner) for i in self.load.indices[:-1]]
        return tir.BufferLoad(self.load.buffer, (*indices, across))

    def store(self, value: PrimExpr, across: PrimExpr, along: PrimExpr) -> st.Stmt:
        places = {self.across: across, self.along: along}
        indices = tuple(places.get(a, a.var) for a in self.stage.spatial)
        return st.BufferStore(self.stage.buffer, value, indices)


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    if len(kernel.stages) != 1 or not isinstance(kernel.stages[0], Stage):
        return Declined("more than one stage")
    found = _movement(_with_long_axes(over_source_axes(kernel.stages[0])), target)
    if isinstance(found, Declined):
        return found
    return kernel.rebuilt(_emit(found, target))


def _with_long_axes(stage: Stage) -> Stage:
    """The stage with axes merged that are adjacent in both source and result: short axes cannot be sides of squares."""
    place = 0
    while place + 1 < len(stage.spatial):
        merged = merge_pair(stage, stage.spatial[place], stage.spatial[place + 1])
        if merged is None or stage.reduce:
            place += 1
        else:
            stage = merged
    return stage


def _movement(stage: Stage, target: Target) -> _Movement | Declined:
    load = stage.value
    if stage.reduce or not isinstance(load, tir.BufferLoad) or len(stage.spatial) < 2 or not load.indices:
        return Declined("no movement of elements")
    bits = load.buffer.dtype.bits
    if bits not in (32, 64) or load.buffer.strides or stage.buffer.strides:
        return Declined("not made of whole registers")
    along = stage.spatial[-1]
    across = next((a for a in stage.spatial[:-1] if a.var is load.indices[-1]), None)
    if across is None or any(depends(i, across.var) for i in load.indices[:-1]):
        return Declined("the source is not contiguous along another axis")
    if not any(depends(i, along.var) for i in load.indices):
        return Declined("the result repeats elements")
    lanes = target.lanes(bits)
    if along.size in INTERLEAVED and across is stage.spatial[-2] and (across.size or lanes) >= lanes >= 4:
        return _Movement(stage, load, across, along, lanes)
    if lanes < 4 or any(a.size is not None and a.size < lanes for a in (along, across)):
        return Declined("smaller than a square of registers")
    return _Movement(stage, load, across, along, lanes)


def _emit(move: _Movement, target: Target) -> st.Stmt:
    if move.along.size in INTERLEAVED:
        return _emit_interleaved(move, target)
    lanes = i64(move.lanes)
    high, wide = as_int64(move.across.extent), as_int64(move.along.extent)
    rows, columns = ops.floordiv(high, lanes), ops.floordiv(wide, lanes)
    row, column = index_var("row"), index_var("column")
    top, left = ops.multiply(row, lanes), ops.multiply(column, lanes)
    tail = index_var("i"), index_var("j")
    place = ops.add(top, tail[0]), ops.add(ops.multiply(columns, lanes), tail[1])
    squares = loop(column, columns, _square(move, top, left))
    beside = nest(
        (Axis(tail[0], lanes),),
        loop(tail[1], ops.floormod(wide, lanes), move.store(move.source(*place), *place), VECTORIZED),
    )
    body = squares if _divides(move.along, move.lanes) else sequence(squares, beside)
    work = ops.add(wide, i64(1))
    parts = [parallel_rows((*move.others, Axis(row, rows)), work, body, target.num_cores)]
    if not _divides(move.across, move.lanes):
        low, j = index_var("i"), index_var("j")
        at = ops.add(ops.multiply(rows, lanes), low)
        rest = loop(low, ops.floormod(high, lanes), loop(j, wide, move.store(move.source(at, j), at, j), VECTORIZED))
        fresh = {a.var: tir.Var(a.var.name, a.var.dtype) for a in move.others}
        again = tuple(Axis(fresh[a.var], a.extent) for a in move.others)
        parts.append(nest(again, substitute_and_fold(rest, fresh)))
    return sequence(*parts)


def _emit_interleaved(move: _Movement, target: Target) -> st.Stmt:
    """Interleave vectors along `across`, one for each index of `along`."""
    count, lanes, stage = move.along.size or 1, i64(move.lanes), move.stage
    length = as_int64(move.across.extent)
    vector, left, j = index_var("vector"), index_var("i"), index_var("j")
    first = ops.multiply(vector, lanes)
    interleaved = interleave([move.source(tir.Ramp(first, i64(1), move.lanes), i64(n)) for n in range(count)])
    line = tir.Ramp(ops.multiply(first, i64(count)), i64(1), count * move.lanes)
    whole = st.BufferStore(joined(stage.buffer, len(stage.spatial) - 2), interleaved, (*stage.indices[:-2], line))
    at = ops.add(ops.multiply(ops.floordiv(length, lanes), lanes), left)
    rest = loop(left, ops.floormod(length, lanes), loop(j, count, move.store(move.source(at, j), at, j)))
    body = loop(vector, ops.floordiv(length, lanes), whole)
    body = body if _divides(move.across, move.lanes) else sequence(body, rest)
    return parallel_rows(stage.spatial[:-2], ops.multiply(length, i64(count)), body, target.num_cores)


def interleave(vectors: list[PrimExpr]) -> PrimExpr:
    """Interleave vectors, whose number is a power of 2, taking elements from each in turn."""
    if len(vectors) == 1:
        return vectors[0]
    even, odd = interleave(vectors[::2]), interleave(vectors[1::2])
    size = even.dtype.lanes
    return tir.Shuffle((even, odd), tuple(i + size * side for i in range(size) for side in range(2)))


def deinterleave(vectors: list[PrimExpr], store: Callable[[int, PrimExpr], st.Stmt]) -> st.Stmt:
    """The inverse: `store(t, v)` with the vector v of every element whose index is t modulo the number of vectors, a
    power of 2.
    """
    bound: list[tuple[tir.Var, PrimExpr]] = []

    def named(value: PrimExpr) -> tir.Var:
        bound.append((tir.Var(f"v{len(bound)}", value.dtype), value))
        return bound[-1][0]

    def apart(whole: list[tir.Var]) -> list[tir.Var]:
        if len(whole) == 1:
            return whole
        size = whole[0].dtype.lanes
        sides = []
        for side in range(2):
            order = tuple(range(side, 2 * size, 2))
            sides.append(apart([named(tir.Shuffle(pair, order)) for pair in zip(whole[::2], whole[1::2])]))
        return [v for pair in zip(*sides) for v in pair]

    body = sequence(*(store(t, v) for t, v in enumerate(apart([named(v) for v in vectors]))))
    for var, value in reversed(bound):
        body = st.LetStmt(var, value, body)
    return body


def _divides(axis: Axis, lanes: int) -> bool:
    return axis.size is not None and axis.size % lanes == 0


def _square(move: _Movement, top: PrimExpr, left: PrimExpr) -> st.Stmt:
    run, line = tir.Ramp(top, i64(1), move.lanes), tir.Ramp(left, i64(1), move.lanes)
    return square(
        lambda r: move.source(run, ops.add(left, i64(r))),
        lambda c, vector: move.store(vector, ops.add(top, i64(c)), line),
        move.lanes,
    )


def square(load: Callable[[int], PrimExpr], store: Callable[[int, tir.Var], st.Stmt], lanes: int) -> st.Stmt:
    """Load `lanes` vectors, exchange, store: element c of vector r becomes element r of vector c. Step d makes element
    p of vector i that of vector p in bit d.
    """
    bound: list[tuple[tir.Var, PrimExpr]] = []

    def named(value: PrimExpr) -> tir.Var:
        bound.append((tir.Var(f"v{len(bound)}", value.dtype), value))
        return bound[-1][0]

    vectors = [named(load(r)) for r in range(lanes)]
    step = 1
    while step < lanes:
        for first in (r for r in range(lanes) if not r & step):
            pair = (vectors[first], vectors[first + step])
            lower = [p if not p & step else lanes + p - step for p in range(lanes)]
            upper = [p + step if not p & step else lanes + p for p in range(lanes)]
            vectors[first], vectors[first + step] = (named(tir.Shuffle(pair, tuple(order))) for order in (lower, upper))
        step *= 2
    body = sequence(*(store(c, v) for c, v in enumerate(vectors)))
    for var, value in reversed(bound):
        body = st.LetStmt(var, value, body)
    return body
