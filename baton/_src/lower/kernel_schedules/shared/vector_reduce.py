"""Vectorise one reduction of a stage inside given outer loops.

If the reduced axis is contiguous, several vectors of partial results run along it and are combined pairwise at the end.
If the last spatial axis is contiguous, each lane reduces its own element. Only the order of the terms changes.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.structural import structural_equal
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.shared.affine import merge_trailing, step
from baton._src.lower.kernel_schedules.shared.inline import CHEAP, expression_cost
from baton._src.lower.kernel_schedules.shared.line_conditions import split_conditions, under_conditions
from baton._src.lower.kernel_schedules.shared.line_middles import middle
from baton._src.lower.kernel_schedules.shared.loops import (
    SERIAL,
    UNROLLED,
    VECTORIZED,
    allocated,
    constant,
    i64,
    index_var,
    local_buffer,
    loop,
    nest,
    product,
    sequence,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.passes.tir.lowering.vectorize_loops import UNROLL_VECTORS, has_cheap_masks
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.builders.scalar_functions import if_then_else

CHAINS = 4
"""Vectors of partial results: enough independent additions to hide the latency of one."""
MOST_BESIDE = 8
"""Vectors of neighbouring elements that are reduced together."""
UNROLL_POINTS = 16
"""Windows of up to this many points are unrolled."""
FEW_BEFORE = 4
"""Results at a border that are not worth a vector."""


def along_reduction(stage: Stage, target: Target) -> bool:
    """Whether to vectorise the last reduced axis rather than the last spatial axis."""
    if not stage.reduce:
        return False
    if not stage.spatial:
        return True
    inner, outer = stage.reduce[-1], stage.spatial[-1]
    fills_no_vector = inner.size is not None and inner.size < _lanes(stage, target)
    if fills_no_vector and _moves(stage, outer) > 0 and not _is_short(outer):
        return False
    return _score(stage, inner) > _score(stage, outer)


def _lanes(stage: Stage, target: Target) -> int:
    return max(2, target.lanes(max(16, stage.buffer.dtype.bits)))


def _moves(stage: Stage, axis: Axis) -> float:
    """The number of contiguous loads along the axis minus the strided ones."""
    moves = [step(load, axis) for load in stage.loads]
    return sum(1.0 if move == 1 else 0.25 if move == 0 else -2.0 for move in moves)


def _is_short(axis: Axis) -> bool:
    return axis.size is not None and axis.size < 4


def _score(stage: Stage, axis: Axis) -> float:
    """What moving along the axis is worth; short axes score little."""
    return _moves(stage, axis) - (100 if _is_short(axis) else 3 if axis.size is not None and axis.size < 8 else 0)


def reduction(stage: Stage, target: Target) -> st.Stmt:
    """The loops of the stage, over its spatial axes that the given outer loops leave, and its reduced axes."""
    stage = _in_float32(merge_trailing(stage))
    lanes = _lanes(stage, target)
    size, least = stage.reduce[-1].size, lanes // 2 if has_cheap_masks(target) else lanes
    if along_reduction(stage, target) and (size is None or size >= least):
        return nest(stage.spatial, _partial_results(stage, lanes, has_cheap_masks(target)))
    if stage.spatial:
        return nest(stage.spatial[:-1], _side_by_side(stage, lanes))
    return _accumulated(stage)


def _in_float32(stage: Stage) -> Stage:
    """A stage of extrema of floats of 16 bits that is combined in float32, which holds them exactly: they would be
    converted back at each step.
    """
    if not stage.buffer.dtype.is_narrow or stage.combiner not in (tir.Max, tir.Min):
        return stage
    assert stage.init is not None
    return replace(stage, value=_wide(stage.value), init=ops.cast("float32", stage.init))


def _wide(value: PrimExpr) -> PrimExpr:
    """A value in float32; each case of one that depends on a condition is converted by itself."""
    match value:
        case tir.Call(op=Op(name="tir.if_then_else"), args=(condition, inside, other)):
            return if_then_else(condition, _wide(inside), _wide(other))
        case _:
            return ops.cast("float32", value)


def _side_by_side(stage: Stage, lanes: int) -> st.Stmt:
    """Several vectors of neighbouring elements are reduced together: a column of single vectors would take as many
    passes over the rows, and read from each a cache line that prefetchers do not foresee.
    """
    if _is_small(stage.reduce):
        return _windows(stage, lanes)
    axis = stage.spatial[-1]
    most = MOST_BESIDE if expression_cost(stage.value) <= CHEAP else MOST_BESIDE // 4  # others need registers, too
    if axis.size is not None:
        wide = next((wide for wide in (8, 4, 2) if wide <= most and axis.size % (wide * lanes) == 0), 1)
        if wide > 1 or axis.size < most * lanes:
            return _part(stage, i64(0), axis.extent, wide * lanes if wide > 1 else 0)
    width = most * lanes
    whole = ops.multiply(ops.floordiv(as_int64(axis.extent), i64(width)), i64(width))
    return sequence(_part(stage, i64(0), whole, width), _part(stage, whole, as_int64(axis.extent)))


def _windows(stage: Stage, lanes: int) -> st.Stmt:
    """Results of small windows: those in the middle of a long line ask for no border."""
    axis = stage.spatial[-1]
    is_unrolled = axis.size is not None and axis.size <= UNROLL_VECTORS * lanes
    found = None if is_unrolled else middle(stage.value, axis, stage.reduce)
    if found is None:
        return _part(stage, i64(0), axis.extent)
    begin, end = index_var("begin"), index_var("end")
    if found.outside is not None and structural_equal(found.outside, identity(stage)):
        assert stage.init is not None
        border = replace(stage, value=stage.init, reduce=())
        kind = VECTORIZED
    else:
        border = stage
        kind = VECTORIZED if found.before is None or found.before > FEW_BEFORE else SERIAL
    parts = sequence(
        _part(border, i64(0), begin, kind=kind),
        _part(replace(stage, value=found.value), begin, end),
        _part(border, end, as_int64(axis.extent), kind=kind),
    )
    return st.LetStmt(begin, found.begin, st.LetStmt(end, found.end, parts))


def _part(stage: Stage, begin: PrimExpr, end: PrimExpr, lanes: int = 0, kind: st.ForKind = VECTORIZED) -> st.Stmt:
    """Elements of the last spatial axis from `begin` to `end`, in vectors of so many lanes where that is said."""
    axis, place = stage.spatial[-1], index_var(stage.spatial[-1].var.name)
    at = ops.cast(axis.var.dtype, ops.add(begin, place))
    element = _accumulated(stage) if stage.reduce else _stored(stage, stage.value)
    body = substitute_and_fold(element, {axis.var: at})
    return loop(place, ops.subtract(as_int64(end), begin), body, kind, **({"lanes": lanes} if lanes else {}))


def _accumulated(stage: Stage) -> st.Stmt:
    """One element, accumulated in a register over all reduced axes."""
    held = local_buffer("acc", (1,), stage.value.dtype)
    zero = (i64(0),)
    assert stage.combiner is not None
    assert stage.init is not None
    value, conditions = split_conditions(stage, identity(stage))
    update = st.BufferStore(held, stage.combiner(tir.BufferLoad(held, zero), value), zero)
    body = sequence(
        st.BufferStore(held, stage.init, zero),
        under_conditions(stage.reduce, conditions, update, _unrolled(stage.reduce)),
        _stored(stage, tir.BufferLoad(held, zero)),
    )
    return allocated(held, body)


def _stored(stage: Stage, result: PrimExpr) -> st.Stmt:
    return st.BufferStore(stage.buffer, ops.cast(stage.buffer.dtype, result), stage.indices)


def _unrolled(window: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The axes of a window to unroll: all, or a short last one, so that where its taps meet a border is known."""
    return window if _is_small(window) else tuple(axis for axis in window[-1:] if _is_small((axis,)))


def _is_small(axes: tuple[Axis, ...]) -> bool:
    """Whether a window (3x3, say) is small enough to unroll."""
    count = constant(product([a.extent for a in axes]))
    return count is not None and count <= UNROLL_POINTS


def _partial_results(stage: Stage, lanes: int, masks: bool) -> st.Stmt:
    """One element, reduced with `CHAINS` vectors of partial results along the last reduced axis."""
    axis = stage.reduce[-1]
    chains = CHAINS if axis.size is None or axis.size >= lanes * CHAINS else 1
    chains = tuned("reduce_chains", chains, (n for n in (1, 2, 4, 8) if axis.size is None or axis.size >= lanes * n))
    width = lanes * chains
    held = local_buffer("part", (width,), stage.value.dtype)
    assert stage.init is not None
    start = index_var("lane")
    fill = loop(start, width, st.BufferStore(held, identity(stage), (start,)), VECTORIZED)
    full = ops.floordiv(as_int64(axis.extent), i64(width))
    block = index_var(f"{axis.var.name}_o")
    rows = []
    for chain in range(chains):
        lane = index_var("lane")
        place = ops.add(ops.multiply(block, i64(width)), ops.add(i64(chain * lanes), lane))
        rows.append(loop(lane, lanes, _update(stage, held, ops.add(lane, i64(chain * lanes)), place), VECTORIZED))
    main = loop(block, full, sequence(*rows), SERIAL)
    whole = nest(stage.reduce[:-1], sequence(main, _tail(stage, held, ops.multiply(full, i64(width)), lanes, masks)))
    result = stage.combiner(stage.init, tir.BufferLoad(held, (i64(0),))) if stage.combiner else stage.init
    return allocated(held, sequence(fill, whole, *_gathered(stage, held, width), _stored(stage, result)))


def _tail(stage: Stage, held: Buffer, done: PrimExpr, lanes: int, masks: bool) -> st.Stmt:
    """The remainder after the full blocks: whole vectors into the first chain, then a partial one.

    The partial results stay in registers only if they are written as whole vectors: a partial vector has identities in
    its other lanes.
    """
    rest = ops.subtract(as_int64(stage.reduce[-1].extent), done)
    vectors = ops.floordiv(rest, i64(lanes))
    which, lane, last = index_var("v"), index_var("lane"), index_var("lane")
    place = ops.add(done, ops.add(ops.multiply(which, i64(lanes)), lane))
    whole = loop(which, vectors, loop(lane, lanes, _update(stage, held, lane, place), VECTORIZED), SERIAL)
    end = ops.add(done, ops.multiply(vectors, i64(lanes)))
    over = ops.subtract(rest, ops.multiply(vectors, i64(lanes)))
    if not masks:
        return sequence(whole, loop(last, over, _update(stage, held, last, ops.add(end, last)), VECTORIZED))
    partial = loop(last, lanes, _update(stage, held, last, ops.add(end, last), tir.LT(last, over)), VECTORIZED)
    return sequence(whole, st.IfThenElse(ops.greater(over, i64(0)), partial))


def _update(stage: Stage, held: Buffer, slot: PrimExpr, place: PrimExpr, inside: PrimExpr | None = None) -> st.Stmt:
    """held[slot] op= value at `place` of the last reduced axis, where that is `inside`."""
    assert stage.combiner is not None
    var = stage.reduce[-1].var
    value = substitute_and_fold(stage.value, {var: ops.cast(var.dtype, place)})
    if inside is not None:
        value = if_then_else(inside, value, identity(stage))
    return st.BufferStore(held, stage.combiner(tir.BufferLoad(held, (slot,)), value), (slot,))


def _gathered(stage: Stage, held: Buffer, width: int) -> list[st.Stmt]:
    """Combine the upper half of the chains into the lower half until one is left."""
    assert stage.combiner is not None
    steps = []
    while width > 1:
        width //= 2
        lane = index_var("lane")
        upper = tir.BufferLoad(held, (ops.add(lane, i64(width)),))
        store = st.BufferStore(held, stage.combiner(tir.BufferLoad(held, (lane,)), upper), (lane,))
        steps.append(loop(lane, width, store, VECTORIZED if width > 1 else UNROLLED, lanes=width))
    return steps


def identity(stage: Stage) -> PrimExpr:
    """The identity element of the combiner (the initial value may be different)."""
    dtype = stage.value.dtype
    if stage.combiner is tir.Add:
        return ops.const(0, dtype)
    if stage.combiner is tir.Mul:
        return ops.const(1, dtype)
    assert stage.init is not None
    return stage.init  # max and min: combining the initial value more than once changes nothing
