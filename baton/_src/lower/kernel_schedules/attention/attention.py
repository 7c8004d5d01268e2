"""Attention as one kernel: softmax(Q Kᵀ, scaled and masked) V, with no matrix of all scores in memory.

It recognises what `ops/nn/attention` computes, and what the pass `FuseAttention` finds in imported graphs:

    scores[.., i, j] = sum over d of Q K        masked = elementwise(scores)        top[.., i] = max over j
    powers = exp(masked - top)        total = sum over j        weighed = sum over j of powers V
    elementwise(weighed / total)

The masked scores may be written out where they are read: fusion does that.

Threads share batches, heads and blocks of queries (`attention_blocks` computes one block). Where several heads read the
same keys (`h // group`), one task computes them all. Factors are read in place, whatever their layout. Lengths may be
symbolic; head sizes must be numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.attention.attention_blocks import task
from baton._src.lower.kernel_schedules.attention.attention_few import FEW, few_queries, suits
from baton._src.lower.kernel_schedules.attention.attention_parts import BLOCK_ROWS, Attention
from baton._src.lower.kernel_schedules.shared.affine import depends, same
from baton._src.lower.kernel_schedules.shared.factors import is_simple
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.loops import constant, i64, index_var, parallel_rows, product
from baton._src.lower.kernel_schedules.shared.stages import Axis, Declined, Kernel, Stage, read_kernel
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc

READING = 4
"""Queries that take as long as reading keys and values does."""
LARGEST_HEAD = 512
"""Largest head size for which blocks of keys or values fit in the second-level cache."""


def apply(func: PrimFunc, target: Target) -> PrimFunc | Declined:
    """Apply the schedule rule; see the module."""
    kernel = read_kernel(func)
    if isinstance(kernel, Declined):
        return kernel
    found = find_attention(inline_elementwise(kernel))
    if isinstance(found, Declined):
        return found
    return kernel.rebuilt(_shared(found, target))


def find_attention(kernel: Kernel) -> Attention | Declined:
    """The stages of attention by role, or why it is not attention."""
    stages = [s for s in kernel.stages if isinstance(s, Stage)]
    if len(stages) != len(kernel.stages) or not 6 <= len(stages) <= 7:
        return Declined("not the stages of attention")
    scores, *middle, top, powers, total, weighed, result = stages
    if not middle and (apart := _masked_apart(top, powers)) is not None:
        masked, top, powers = apart
        middle = [masked]
        kernel = replace(kernel, local=(*kernel.local, masked.buffer))
    if any(s.buffer not in kernel.local for s in (scores, *middle, top, powers, total, weighed)):
        return Declined("what is computed in between is a result, too")
    if any(result.buffer in s.reads for s in stages):
        return Declined("the result is written over an operand")
    masked = middle[0] if middle else scores
    if not _is_product(weighed):
        total, weighed = weighed, total
    chain = _is_product(scores) and _is_product(weighed) and scores.buffer.dtype.is_float
    if not chain or scores.buffer.dtype != weighed.buffer.dtype:
        return Declined("no two products")
    if middle and not (_is_pointwise(masked, scores) and not masked.reduce):
        return Declined("what happens to the scores is not elementwise")
    if not (_folds(top, masked, tir.Max) and _folds(total, powers, tir.Add) and _is_power(powers, masked, top)):
        return Declined("no softmax over the last axis")
    if not _starts_at_zero(total):
        return Declined("the total begins with a number of its own")
    return _roles(scores, masked, total, powers, weighed, result)


def _masked_apart(top: Stage, powers: Stage) -> tuple[Stage, Stage, Stage] | None:
    """(masked scores, their maximum, powers) where the latter two each compute the masked scores for themselves."""
    axes = (*top.spatial, *top.reduce)
    match powers.value:
        case tir.Call(op=Op(name="tir.exp"), args=(tir.Sub(a=value, b=subtracted),)) if _alike(axes, powers.spatial):
            own = {axis.var: mine.var for axis, mine in zip(axes, powers.spatial)}
            if isinstance(value, tir.BufferLoad) or not structural_equal(substitute_and_fold(top.value, own), value):
                return None
        case _:
            return None
    data = tir.Var("masked", "handle", pointee=powers.buffer.dtype)
    buffer = Buffer(data, powers.buffer.dtype, tuple(axis.extent for axis in powers.spatial), name="masked")
    difference = tir.Sub(tir.BufferLoad(buffer, powers.indices), subtracted)
    return (
        Stage(buffer, powers.spatial, value).renamed(),
        replace(top, value=tir.BufferLoad(buffer, tuple(axis.var for axis in axes))),
        replace(powers, value=powers.value.with_fields(args=(difference,))),
    )


def _is_product(stage: Stage) -> bool:
    value = stage.value
    if stage.combiner is not tir.Add or len(stage.reduce) != 1 or not isinstance(value, tir.Mul):
        return False
    return _starts_at_zero(stage) and is_simple(value.a) and is_simple(value.b)


def _starts_at_zero(stage: Stage) -> bool:
    return stage.init is not None and _is_number(stage.init, 0)


def _is_pointwise(stage: Stage, source: Stage) -> bool:
    """Whether a stage reads `source` exactly at its own point."""
    loads = [load for load in stage.loads if load.buffer is source.buffer]
    return bool(loads) and all(_at(load, stage.spatial) for load in loads) and _same_axes(stage, source)


def _same_axes(a: Stage, b: Stage) -> bool:
    return _alike(a.spatial, b.spatial)


def _alike(a: tuple[Axis, ...], b: tuple[Axis, ...]) -> bool:
    return len(a) == len(b) and all(same(x.extent, y.extent) for x, y in zip(a, b))


def _at(load: Node, axes: tuple[Axis, ...]) -> TypeGuard[tir.BufferLoad]:
    return (
        isinstance(load, tir.BufferLoad)
        and len(load.indices) == len(axes)
        and all(i is a.var for i, a in zip(load.indices, axes))
    )


def _folds(stage: Stage, source: Stage, combiner: type[tir.BinaryOp]) -> bool:
    """Whether a stage reduces all of `source` along its last axis."""
    axes = (*stage.spatial, *stage.reduce)
    if stage.combiner is not combiner or len(stage.reduce) != 1 or not _alike(axes, source.spatial):
        return False
    return _at(stage.value, axes) and stage.value.buffer is source.buffer


def _is_power(stage: Stage, masked: Stage, top: Stage) -> bool:
    match stage.value:
        case tir.Call(op=Op(name="tir.exp"), args=(tir.Sub(a=tir.BufferLoad() as a, b=tir.BufferLoad() as b),)):
            own = _at(a, stage.spatial) and _at(b, stage.spatial[:-1]) and _same_axes(stage, masked)
            return own and a.buffer is masked.buffer and b.buffer is top.buffer
        case _:
            return False


def _roles(
    scores: Stage, masked: Stage, total: Stage, powers: Stage, weighed: Stage, result: Stage
) -> Attention | Declined:
    batch, row, key, inner = scores.spatial[:-2], scores.spatial[-2], scores.spatial[-1], scores.reduce[0]
    query, keys = _factors(scores, row, key)
    weights = next((n for n in post_order(weighed.value) if getattr(n, "buffer", None) is powers.buffer), None)
    if query is None or keys is None or not isinstance(weights, tir.BufferLoad):
        return Declined("a factor does not vary as a query or a key")
    if not (inner.size and inner.size <= LARGEST_HEAD):
        return Declined("heads of unknown size")
    place = {a.var: index for a, index in zip(scores.spatial, weights.indices) if isinstance(index, tir.Var)}
    by_var = {index: a for a, index in zip(scores.spatial, weights.indices) if isinstance(index, tir.Var)}
    rest = [a for a in weighed.spatial if a.var not in by_var]
    if (
        not len(by_var) == len(place) == len(scores.spatial)
        or len(rest) != 1
        or by_var.get(weighed.reduce[0].var) is not key
        or not _same_extents(by_var, weighed)
    ):
        return Declined("the weights are not read along the keys")
    column = rest[0]
    assert isinstance(weighed.value, tir.Mul)
    value = (
        weighed.value.b
        if depends(weighed.value.a, weighed.reduce[0].var) and _holds(weighed.value.a, weights)
        else (weighed.value.a)
    )
    if (
        depends(value, place[row.var])
        or not depends(value, column.var)
        or not (column.size and column.size <= LARGEST_HEAD)
    ):
        return Declined("a value varies with the query")
    quotient = next((n for n in post_order(result.value) if _divides(n, result, weighed, total, weights)), None)
    if quotient is None or not _is_last(result, quotient, (scores, masked, total, powers, weighed)):
        return Declined("the result is not computed from the weighed values divided by the total")
    return Attention(
        scores, masked, batch, row, key, inner, query, keys, value, place, weighed, column, result, quotient
    )


def _same_extents(by_var: Mapping[tir.Var, Axis], weighed: Stage) -> bool:
    """Whether the second product goes over all weights."""
    own = (a for a in (*weighed.spatial, *weighed.reduce) if a.var in by_var)
    return all(same(a.extent, by_var[a.var].extent) for a in own)


def _holds(value: PrimExpr, load: tir.BufferLoad) -> bool:
    return any(n is load for n in post_order(value))


def _factors(scores: Stage, row: Axis, key: Axis) -> tuple[PrimExpr | None, PrimExpr | None]:
    """(the factor that varies with the query, the one that varies with the key)"""
    assert isinstance(scores.value, tir.Mul)
    for query, keys in ((scores.value.a, scores.value.b), (scores.value.b, scores.value.a)):
        if depends(query, row.var) and depends(keys, key.var) and not depends(query, key.var):
            return (query, keys) if not depends(keys, row.var) else (None, None)
    return None, None


def _is_last(result: Stage, quotient: PrimExpr, others: tuple[Stage, ...]) -> bool:
    """Whether the last stage is elementwise in the quotient: it reads nothing else of what the others compute."""
    inside = {id(n) for n in post_order(quotient)}
    computed = {stage.buffer for stage in others}
    left = (load for load in result.loads if id(load) not in inside)
    return not result.reduce and all(load.buffer not in computed for load in left)


def _divides(value: object, result: Stage, weighed: Stage, total: Stage, weights: tir.BufferLoad) -> bool:
    """Whether a value of the last stage is weighed / total at its own place; the total of no keys may count as 1."""
    if not isinstance(value, tir.Div) or not _same_axes(result, weighed):
        return False
    if not (_at(value.a, result.spatial) and value.a.buffer is weighed.buffer):
        return False
    renamed = {own.var: mine.var for own, mine in zip(weighed.spatial, result.spatial)}
    wanted = [renamed.get(i) if isinstance(i, tir.Var) else None for i in weights.indices[:-1]]
    divisor = value.b
    if isinstance(divisor, tir.Select) and isinstance(divisor.condition, tir.EQ) and _is_number(divisor.true_value, 1):
        count, none = divisor.condition.a, divisor.condition.b
        if _is_number(none, 0) and structural_equal(as_int64(count), as_int64(weighed.reduce[0].extent)):
            divisor = divisor.false_value
    return (
        isinstance(divisor, tir.BufferLoad)
        and divisor.buffer is total.buffer
        and all(i is w for i, w in zip(divisor.indices, wanted))
    )


def _is_number(value: PrimExpr, wanted: int) -> bool:
    return isinstance(value, (tir.IntImm, tir.FloatImm)) and value.value == wanted


# ------------------------------------------------------------------------------------------------- sharing


@dataclass(frozen=True)
class _Group:
    """The batch axis whose `size` neighbours share keys and values."""

    axis: Axis
    size: int


def _group(found: Attention) -> _Group | None:
    """`h // size` is the only way in which keys and values depend on h."""
    for axis in found.batch:
        sizes = {_divisor(factor, var) for factor, var in found.shared_factors(axis)}
        size = sizes.pop() if len(sizes) == 1 else None
        if size and size > 1 and axis.size is not None and axis.size % size == 0:
            return _Group(axis, size)
    return None


def _divisor(factor: PrimExpr, var: tir.Var) -> int | None:
    """The number by which `var` is divided wherever `factor` uses it."""
    found: set[int] = set()
    inside: set[int] = set()
    for node in post_order(factor):
        match node:
            case tir.FloorDiv(a=a, b=tir.IntImm(value=size)) if a is var:
                found.add(size)
                inside.add(id(node))
            case _:
                pass
    plain = _mentions_outside(factor, var)
    return found.pop() if len(found) == 1 and not plain else None


def _mentions_outside(value: Node, var: tir.Var) -> bool:
    """Whether `var` occurs anywhere except as a dividend."""
    stack = [value]
    while stack:
        node = stack.pop()
        if node is var:
            return True
        match node:
            case tir.FloorDiv(a=a, b=tir.IntImm()) if a is var:
                continue
            case tir.BufferLoad(indices=indices):
                stack += indices
            case tir.Cast(value=inner):
                stack.append(inner)
            case tir.BinaryOp(a=a, b=b):
                stack += [a, b]
            case _:
                if isinstance(node, PrimExpr) and depends(node, var):
                    return True
    return False


def _shared(found: Attention, target: Target) -> st.Stmt:
    """Loops over batches and blocks of queries, shared between threads."""
    group = _group(found)
    axes: list[Axis] = []
    members = None
    for axis in found.batch:
        if group is not None and axis is group.axis:
            whole = index_var(axis.var.name)
            axes.append(Axis(whole, i64((axis.size or 1) // group.size)))
            members = (axis, whole, group.size)
        else:
            axes.append(axis)
    rows = _block_rows(found, axes, target)
    block = index_var("block")
    every = as_int64(found.row.extent)
    blocks = ops.floordiv(ops.add(every, i64(rows - 1)), i64(rows))
    first = ops.multiply(block, i64(rows))
    count = i64(rows) if found.row.size == rows else ops.min(i64(rows), ops.subtract(every, first))
    body = task(found, first, count, rows, members, target)
    if (found.row.size is None or found.row.size <= FEW) and suits(found, target):
        few = few_queries(found, members, target)
        body = few if found.row.size else st.IfThenElse(tir.LE(every, i64(FEW)), few, body)
    met = ops.max(count if constant(count) else ops.min(i64(rows), every), i64(READING))
    each = ops.multiply(met, as_int64(found.key.extent))
    work = ops.multiply(each, i64(max(1, (found.inner.size or 1) // 8) * (group.size if group else 1)))
    shared = (*axes, Axis(block, blocks))
    if constant(blocks) == 1:
        body = st.LetStmt(block, i64(0), body)
        shared = tuple(axes)
    return parallel_rows(shared, work, body, target.num_cores)


def _block_rows(found: Attention, axes: list[Axis], target: Target) -> int:
    """Queries per task: many, since each task packs the keys; fewer if there would be too few tasks."""
    size = found.row.size
    if size is None:
        return BLOCK_ROWS
    tasks = constant(product([a.extent for a in axes]))
    wanted = max(1, -(-2 * target.num_cores // tasks)) if tasks else 1
    pieces = max(-(-size // BLOCK_ROWS), min(wanted, -(-size // 48)) if target.num_cores > 1 else 1)
    return -(-size // max(1, pieces))
