"""Transposes by shuffling squares of registers.

    B[.., i, .., j] = f(A[.., j, .., i], ..)

A is contiguous along i and B along j. A square of `lanes` x `lanes` elements is loaded as whole vectors along i,
transposed in log2(lanes) steps that exchange halves, quarters, ... of pairs of vectors, and stored as whole vectors
along j. Loading along j instead would take one element at a time. What is computed from the elements is computed from
the transposed square, which waits in a small buffer; elements outside all squares one by one. Squares of elements that
are only moved may overlap, so that none are outside, and sides of open size that turn out to be shorter than a square
have loops of their own.

Where the result has j = 2, 3, 4 or 8 adjacent elements for each i, that many vectors along i are interleaved instead.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.target import Target
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.movements import Movement, is_same, movement, prepared
from baton._src.lower.kernel_schedules.shared.affine import joined
from baton._src.lower.kernel_schedules.shared.inline import expression_cost, inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    ceil_div,
    i64,
    index_var,
    local_buffer,
    loop,
    named,
    nest,
    parallel_rows,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.open_sides import in_lines, with_size
from baton._src.lower.kernel_schedules.shared.register_shuffles import interleave, square
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Stage, read_kernel
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    kernel = inline_elementwise(kernel)
    if len(kernel.stages) != 1 or not isinstance(kernel.stages[0], Stage):
        return Declined("more than one stage")
    found = movement(prepared(kernel.stages[0]), target)
    if isinstance(found, Declined):
        return found
    return kernel.rebuilt(_emit(found, target))


def _emit(move: Movement, target: Target) -> st.Stmt:
    if move.is_interleaved:
        return _emit_interleaved(move, target)
    if not move.is_plain:
        return _emit_computed(move, target)
    sides, lanes = (move.across, move.along), i64(move.lanes)
    squares = _emit_moved(move, target)
    fits = [ops.greater_equal(as_int64(side.extent), lanes) for side in sides if side.size is None]
    return st.IfThenElse(ops.all(*fits), squares, _emit_small(move, target)) if fits else squares


def _emit_moved(move: Movement, target: Target) -> st.Stmt:
    """Squares over all elements. The last ones end where the axis does: they move some elements again that the ones
    before did.
    """
    lanes = i64(move.lanes)
    row, column = index_var("row"), index_var("column")

    def line(top: PrimExpr) -> st.Stmt:
        left = _start(move, column, move.along)
        return loop(column, columns, named("left", left, lambda left: _moved_square(move, top, left)))

    rows, columns = (ceil_div(as_int64(side.extent), lanes) for side in (move.across, move.along))
    body = named("top", _start(move, row, move.across), line)
    work = ops.multiply(columns, i64(move.lanes * move.lanes))
    return parallel_rows((*move.others, Axis(row, rows)), work, body, target.num_cores)


FEW = (2, 3, 4)
"""Lengths of a short side, such as channels of images, for which there is code of its own where sizes are open."""


def _emit_small(move: Movement, target: Target) -> st.Stmt:
    """Elements of sides that are open, and shorter than a square: vectors along the longer one."""
    longer = (ops.greater_equal(as_int64(move.along.extent), as_int64(move.across.extent)), move.along, move.across)
    found = st.IfThenElse(longer[0], *(in_lines(move.stage, side.var, target) for side in longer[1:]))
    for side in (move.along, move.across):
        size = side.extent
        if not isinstance(size, tir.Var):
            continue
        for count in FEW:
            few = _emit_few(with_size(move.stage, size, count), target)
            found = st.IfThenElse(ops.equal(size, ops.const(count, size.dtype)), few, found)
    return found


def _emit_few(stage: Stage, target: Target) -> st.Stmt:
    move = movement(stage, target)
    if isinstance(move, Movement) and move.is_interleaved:
        return _emit_interleaved(move, target)
    return in_lines(stage, stage.spatial[-1].var, target)


def _emit_computed(move: Movement, target: Target) -> st.Stmt:
    """Squares, each computed once: the result may lie where another operand does. Elements outside are computed one by
    one.
    """
    lanes = i64(move.lanes)
    high, wide = as_int64(move.across.extent), as_int64(move.along.extent)
    rows, columns = ops.floordiv(high, lanes), ops.floordiv(wide, lanes)
    row, column = index_var("row"), index_var("column")
    top, left = ops.multiply(row, lanes), ops.multiply(column, lanes)
    tail = index_var("i"), index_var("j")
    place = ops.add(top, tail[0]), ops.add(ops.multiply(columns, lanes), tail[1])
    squares = loop(column, columns, _computed_square(move, top, left))
    beside = nest(
        (Axis(tail[0], lanes),),
        loop(tail[1], ops.floormod(wide, lanes), move.store(move.value(*place), *place), VECTORIZED),
    )
    body = squares if _divides(move.along, move.lanes) else sequence(squares, beside)
    work = ops.multiply(ops.add(wide, i64(1)), i64(move.lanes * max(1, expression_cost(move.stage.value) // 4)))
    parts = [parallel_rows((*move.others, Axis(row, rows)), work, body, target.num_cores)]
    if not _divides(move.across, move.lanes):
        low, j = index_var("i"), index_var("j")
        at = ops.add(ops.multiply(rows, lanes), low)
        rest = loop(low, ops.floormod(high, lanes), loop(j, wide, move.store(move.value(at, j), at, j), VECTORIZED))
        fresh = {a.var: tir.Var(a.var.name, a.var.dtype) for a in move.others}
        again = tuple(Axis(fresh[a.var], a.extent) for a in move.others)
        parts.append(nest(again, substitute_and_fold(rest, fresh)))
    return sequence(*parts)


def _emit_interleaved(move: Movement, target: Target) -> st.Stmt:
    """Interleave vectors along `across`, one for each index of `along`. The last ones end where the axis does."""
    count, lanes, stage = move.along.size or 1, i64(move.lanes), move.stage
    length = as_int64(move.across.extent)
    vector, left, j = index_var("vector"), index_var("i"), index_var("j")

    def whole(first: PrimExpr) -> st.Stmt:
        run = tir.Ramp(first, i64(1), move.lanes)
        interleaved = interleave([move.source(move.loads[0], run, i64(n)) for n in range(count)])
        line = tir.Ramp(ops.multiply(first, i64(count)), i64(1), count * move.lanes)
        return st.BufferStore(joined(stage.buffer, len(stage.spatial) - 2), interleaved, (*stage.indices[:-2], line))

    body = loop(vector, ceil_div(length, lanes), named("first", _start(move, vector, move.across), whole))
    if move.across.size is None:
        few = loop(left, length, loop(j, count, move.store(move.value(left, j), left, j)))
        body = st.IfThenElse(ops.greater_equal(length, lanes), body, few)
    return parallel_rows(stage.spatial[:-2], ops.multiply(length, i64(count)), body, target.num_cores)


def _start(move: Movement, number: tir.Var, side: Axis) -> PrimExpr:
    """Where a vector or square begins on a side: the last one ends where the side does."""
    place = ops.multiply(number, i64(move.lanes))
    last = ops.subtract(as_int64(side.extent), i64(move.lanes))
    return place if _divides(side, move.lanes) else ops.min(place, last)


def _divides(axis: Axis, lanes: int) -> bool:
    return axis.size is not None and axis.size % lanes == 0


def _square(
    move: Movement, load: tir.BufferLoad, top: PrimExpr, left: PrimExpr, store: Callable[[int, tir.Var], st.Stmt]
) -> st.Stmt:
    """The square of a load whose first element is at (top, left); `store(c, v)` stores its transposed row c."""
    run = tir.Ramp(top, i64(1), move.lanes)
    return square(lambda r: move.source(load, run, ops.add(left, i64(r))), store, move.lanes)


def _moved_square(move: Movement, top: PrimExpr, left: PrimExpr) -> st.Stmt:
    line = tir.Ramp(left, i64(1), move.lanes)
    return _square(move, move.loads[0], top, left, lambda c, v: move.store(v, ops.add(top, i64(c)), line))


def _computed_square(move: Movement, top: PrimExpr, left: PrimExpr) -> st.Stmt:
    """One square of each load, transposed into a buffer; then the results, row by row."""
    row, lane = index_var("row"), index_var("v")
    line = tir.Ramp(i64(0), i64(1), move.lanes)
    tiles = [local_buffer("transposed", (move.lanes, move.lanes), load.buffer.dtype) for load in move.loads]

    def filled(load: tir.BufferLoad, tile: Buffer) -> st.Stmt:
        return _square(move, load, top, left, lambda c, v: st.BufferStore(tile, v, (i64(c), line)))

    def transposed(node: Node) -> Node | None:
        if not isinstance(node, tir.BufferLoad):
            return None
        tile = next((tile for load, tile in zip(move.loads, tiles) if is_same(node, load)), None)
        return None if tile is None else tir.BufferLoad(tile, (row, lane))

    value = rewrite(move.stage.value, transposed)
    places = {move.across: ops.add(top, row), move.along: ops.add(left, lane)}
    value = substitute_and_fold(value, {a.var: ops.cast(a.var.dtype, place) for a, place in places.items()})
    results = loop(lane, move.lanes, move.store(value, *places.values()), VECTORIZED)
    body = sequence(*map(filled, move.loads, tiles), loop(row, move.lanes, results))
    for tile in tiles:
        body = allocated(tile, body)
    return body
