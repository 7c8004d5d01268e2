"""Values beside one another that are computed in different ways: pairs of real and imaginary parts, coordinates.

    for i in n, j in 2: B[i, j] = if_then_else(j >= 1, g(i), f(i))
    ->
    for v in n / 8: a[0:8] = f(8v + 0:8);  b[0:8] = g(8v + 0:8);  B[8v + 0:8, :] = a and b, interleaved by shuffles

Vectors along j, which is short, would compute all values for each element and select one. Where nothing is chosen, but
what is loaded depends either on i or on j, they would be as short as j, and what lies side by side along i would be
loaded one by one:

    for i in n, j in 2: B[i, j] = x[i] * s[j]    ->    a[0:8] = x[8v + 0:8] * s[0];  b[0:8] = x[8v + 0:8] * s[1];  ..
    for i in n, j in 2: B[i, j] = x[j, i] + 1    ->    a[0:8] = x[0, 8v + 0:8] + 1;  b[0:8] = x[1, 8v + 0:8] + 1;  ..

What is left of an axis is done by halves of a vector, quarters, .. and single elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.shared.affine import depends, joined, merge_pair, step
from baton._src.lower.kernel_schedules.shared.flat_index_digits import is_choice, with_last_axis_apart
from baton._src.lower.kernel_schedules.shared.inline import expression_cost
from baton._src.lower.kernel_schedules.shared.loops import (
    VECTORIZED,
    allocated,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    parallel_rows,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.register_shuffles import INTERLEAVED, interleave
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

SHORTEST = 4
"""Elements of the shortest vectors."""


def interleaved(stage: Stage, target: Target) -> st.Stmt | None:
    """The loops of an elementwise stage whose last axis chooses among values; None if it is not of this form."""
    stage = with_last_axis_apart(stage, INTERLEAVED) if stage.spatial else stage
    if len(stage.spatial) < 2 or stage.buffer.strides or stage.spatial[-1].size not in INTERLEAVED:
        return None
    stage = _with_long_axis(stage)
    along, last = stage.spatial[-2:]
    places = [tir.IntImm(last.var.dtype, n) for n in range(last.size or 0)]
    values = [substitute_and_fold(stage.value, {last.var: place}) for place in places]
    lanes = target.lanes(max(32, stage.buffer.dtype.bits))
    if stage.buffer.dtype.is_bool or not all(_is_wide(v, along) for v in values):
        return None
    if not (_chooses(stage.value, last) or _is_outer(stage, along, last) or _is_across(stage, along, last)):
        return None
    if along.size is not None and along.size < lanes:
        return None
    return _emitted(stage, values, lanes, target)


def _with_long_axis(stage: Stage) -> Stage:
    """The stage with the axes before the last one merged as far as accesses allow."""
    while len(stage.spatial) > 2:
        merged = merge_pair(stage, *stage.spatial[-3:-1])
        if merged is None:
            break
        stage = merged
    return stage


def _chooses(value: PrimExpr, last: Axis) -> bool:
    """Whether a condition depends on the last axis."""
    conditions = [n.args[0] if isinstance(n, tir.Call) else n.condition for n in post_order(value) if is_choice(n)]
    return any(depends(condition, last.var) for condition in conditions)


def _is_outer(stage: Stage, along: Axis, last: Axis) -> bool:
    """Whether what is loaded depends on one of the two axes at most: a map of places, each coordinate by itself."""
    uses = [[any(depends(i, axis.var) for i in load.indices) for axis in (along, last)] for load in stage.loads]
    return any(is_along for is_along, _ in uses) and not any(all(both) for both in uses)


def _is_across(stage: Stage, along: Axis, last: Axis) -> bool:
    """Whether what is loaded lies side by side along the one axis, and not along the other."""
    return all(step(load, along) in (0, 1) for load in stage.loads) and any(
        step(load, last) not in (0, 1) for load in stage.loads
    )


def _is_wide(value: PrimExpr, along: Axis) -> bool:
    """Whether all that a value loads are vectors along the axis, or single elements."""
    loads = [n for n in post_order(value) if isinstance(n, tir.BufferLoad)]
    steps = [step(load, along) for load in loads]
    return all(found is not None and 0 <= found <= 8 for found in steps)


def _emitted(stage: Stage, values: list[PrimExpr], lanes: int, target: Target) -> st.Stmt:
    """Whole vectors, then what is left of each run along the axis."""
    along, rows = stage.spatial[-2], stage.spatial[:-2]
    length, vector = as_int64(along.extent), index_var("vector")
    full = ops.floordiv(length, i64(lanes))
    work = lanes * len(values) * max(1, expression_cost(stage.value) // 2)
    main = _vector(stage, values, ops.multiply(vector, i64(lanes)), lanes)
    whole = parallel_rows((*rows, Axis(vector, full)), work, main, target.num_cores)
    if along.size is not None and along.size % lanes == 0:
        return whole
    fresh = {a.var: tir.Var(a.var.name, a.var.dtype) for a in rows}
    left = substitute_and_fold(sequence(*_left(stage, values, length, lanes)), fresh)
    return sequence(whole, nest(tuple(Axis(fresh[a.var], a.extent) for a in rows), left))


def _left(stage: Stage, values: list[PrimExpr], length: PrimExpr, lanes: int) -> Iterator[st.Stmt]:
    """What whole vectors leave of a run: shorter ones, and fewer elements than the shortest of those."""
    while lanes > SHORTEST:
        half, once = lanes // 2, index_var("once")
        start = ops.multiply(ops.floordiv(length, i64(lanes)), i64(lanes))
        count = ops.floordiv(ops.floormod(length, i64(lanes)), i64(half))
        if not ops.is_const(count, 0):
            yield loop(once, count, _vector(stage, values, start, half))
        lanes = half
    rest = ops.floormod(length, i64(lanes))
    if not ops.is_const(rest, 0):
        yield _tail(stage, values, ops.multiply(ops.floordiv(length, i64(lanes)), i64(lanes)), rest, lanes)


def _filled(
    stage: Stage, values: list[PrimExpr], start: PrimExpr, count: PrimExpr | int, held: Buffer
) -> list[st.Stmt]:
    """`count` elements of each value from `start` on, one row of `held` for each."""
    var, found = stage.spatial[-2].var, []
    for n, value in enumerate(values):
        lane = index_var("v")
        here = substitute_and_fold(value, {var: ops.cast(var.dtype, ops.add(start, lane))})
        found.append(loop(lane, count, st.BufferStore(held, here, (i64(n), lane)), VECTORIZED))
    return found


def _vector(stage: Stage, values: list[PrimExpr], start: PrimExpr, lanes: int) -> st.Stmt:
    """One vector of each value, which stay in registers until they are interleaved."""
    count, place = len(values), len(stage.spatial) - 2
    held = local_buffer("beside", (count, lanes), stage.buffer.dtype)
    run = tir.Ramp(i64(0), i64(1), lanes)
    line = tir.Ramp(ops.multiply(start, i64(count)), i64(1), count * lanes)
    together = interleave([tir.BufferLoad(held, (i64(n), run)) for n in range(count)])
    store = st.BufferStore(joined(stage.buffer, place), together, (*stage.indices[:place], line))
    return allocated(held, sequence(*_filled(stage, values, start, lanes, held), store))


def _tail(stage: Stage, values: list[PrimExpr], start: PrimExpr, rest: PrimExpr, lanes: int) -> st.Stmt:
    """Fewer than a vector of each value, which are stored one by one."""
    held, lane = local_buffer("left", (len(values), lanes), stage.buffer.dtype), index_var("v")
    place = (*stage.indices[:-2], ops.add(start, lane))
    loads = [tir.BufferLoad(held, (i64(n), lane)) for n in range(len(values))]
    stores = [st.BufferStore(stage.buffer, load, (*place, i64(n))) for n, load in enumerate(loads)]
    return allocated(held, sequence(*_filled(stage, values, start, rest, held), loop(lane, rest, sequence(*stores))))
