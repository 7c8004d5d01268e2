"""Reductions in two steps: partial results for each iteration of a loop, then their combination.

    for i, ko, ki: C[i] += A[i, ko * 4 + ki]
->  for i, ko, ki: C_rf[i, ki] += A[i, ko * 4 + ki]; for i, ki: C[i] += C_rf[i, ki]

The first nest has new loops; the combination keeps the original ones.
"""

from __future__ import annotations

import itertools
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.reductions import variables_of
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.conditions.coverage import require_whole
from baton._src.tir.schedule.transformations.reducers import Reducer, reducer_of
from baton._src.tir.schedule.tree import (
    bound_by,
    enclosing_block,
    find_block,
    find_loop,
    fresh_loop_variables,
    is_true,
    path_to,
    refreshed,
    refuse,
    replace,
    require_around,
    unused_name,
    with_condition,
)
from baton._src.tir.schedule.views import without_views

_TRUE = tir.IntImm("bool", 1)


def rfactor(
    root: st.Stmt, name: str, var: tir.Var, factor_axis: int, *, over_axes: bool = False
) -> tuple[st.Stmt, str]:
    """Split a reduction into two steps; the new block is `<name>_rf`. With `over_axes`, the block `name` gets a new
    nest of loops over its axes.
    """
    root = without_views(root, name)
    realize = find_block(root, name)
    loop = find_loop(root, var)
    path = path_to(root, realize)
    require_around(loop, realize)
    if loop.kind is not st.ForKind.SERIAL or loop.thread_binding is not None:
        raise refuse(f"the loop over {var.name} is {loop.kind.name.lower()}: rfactor takes serial loops")
    _require_alone(path, name)
    _require_inside(realize, path)
    require_whole(root, realize, realize.block.iter_vars)
    reducer = reducer_of(realize.block)
    rank = len(reducer.indices)
    place = factor_axis if factor_axis >= 0 else factor_axis + rank + 1
    if not 0 <= place <= rank:
        raise refuse(f"factor_axis {factor_axis}: the partial results of {name} have {rank + 1} dims")
    buffers = [_partial_buffer(store.buffer, loop, place) for store in reducer.stores]
    label = unused_name(root, f"{name}_rf")
    first = _partial(realize, path, loop, reducer, buffers, place, label)
    second = _combined(realize, loop, reducer, buffers, place)
    nest = _nest_over_axes(second) if over_axes else _nest_of_loops(second, realize, path, loop)
    outer = enclosing_block(path)
    top = path[outer + 1]
    if isinstance(top, st.SeqStmt):
        top = path[outer + 2]
    partial = replace(top, {realize: first})
    changed = replace(root, {top: st.SeqStmt((substitute(partial, fresh_loop_variables(partial)), nest))})
    scope = path[outer]
    assert isinstance(scope, st.Block)
    found = find_scope(changed, scope)
    with_memory = found.with_fields(alloc_buffers=(*found.alloc_buffers, *buffers), body=flat(found.body))
    return replace(changed, {found: with_memory}), label


def _require_alone(path: list[st.Stmt], name: str) -> None:
    """Require that the loops around contain nothing else: it would run before the partial results are combined."""
    outer = enclosing_block(path)
    inside = itertools.dropwhile(lambda item: not isinstance(item, st.For), path[outer + 1 :])
    if not all(isinstance(item, st.For | st.BlockRealize) for item in inside):
        raise refuse(
            f"the loops around block {name} hold other blocks, too, which would not see its result",
            help="rfactor before other blocks are moved to these loops",
        )


def _require_inside(realize: st.BlockRealize, path: list[st.Stmt]) -> None:
    """Require that nothing outside of the block around goes on with the sums: inside they begin anew each time."""
    if carried := bound_by(path[: enclosing_block(path) + 1]) & variables_of(realize, reducing=True):
        raise refuse(
            f"{min(v.name for v in carried)}, outside of the block around {realize.block.name_hint}, goes on with its "
            "sums: the partial ones would begin anew",
            help="rfactor before loop_partition or blockize",
        )


def find_scope(root: st.Stmt, block: st.Block) -> st.Block:
    """The block of that name, after its body changed."""
    if not block.name_hint:
        return next(n for n in reversed(st.statements(root)) if isinstance(n, st.Block))
    return find_block(root, block.name_hint).block


def flat(body: st.Stmt) -> st.Stmt:
    """A sequence with directly nested sequences flattened."""
    if not isinstance(body, st.SeqStmt):
        return body
    return st.SeqStmt(tuple(part for s in body.seq for part in (s.seq if isinstance(s, st.SeqStmt) else (s,))))


def _partial_buffer(buffer: Buffer, loop: st.For, place: int) -> Buffer:
    dtype = buffer.shape[0].dtype if buffer.shape else loop.extent.dtype
    shape = (*buffer.shape[:place], ops.cast(dtype, loop.extent), *buffer.shape[place:])
    return decl_buffer(shape, buffer.dtype, f"{buffer.name}_rf", scope=buffer.scope())


def _at(indices: tuple[PrimExpr, ...], extra: PrimExpr, place: int) -> tuple[PrimExpr, ...]:
    return (*indices[:place], extra, *indices[place:])


def _partial(
    realize: st.BlockRealize,
    path: list[st.Stmt],
    loop: st.For,
    reducer: Reducer,
    buffers: list[Buffer],
    place: int,
    label: str,
) -> st.BlockRealize:
    """The partial results, as a block `label`: each loop of the reduction is an axis, the factored one spatial."""
    block = realize.block
    spatial = [(iv, v) for iv, v in zip(block.iter_vars, realize.iter_values) if iv.iter_type != "reduce"]
    reduced = [(iv, v) for iv, v in zip(block.iter_vars, realize.iter_values) if iv.iter_type == "reduce"]
    mentioned = {n for _, v in reduced for n in post_order(v)}
    if loop.loop_var not in mentioned or any(loop.loop_var in post_order(v) for _, v in spatial):
        raise refuse(
            f"the loop over {loop.loop_var.name} does not carry the reduction of block {block.name_hint} alone"
        )
    around = [item for item in path if isinstance(item, st.For) and item.loop_var in mentioned]
    shared = mentioned.intersection(item.loop_var for item in around) & {n for _, v in spatial for n in post_order(v)}
    if shared:
        raise refuse(
            f"the loop over {min(v.name for v in shared)} goes on with the reduction and with other results: "
            f"the partial sums of block {block.name_hint} would not begin anew",
            help="rfactor before such loops are fused",
        )
    ordered, values, inside = _partial_axes(realize, around, loop)
    where = ops.subtract(ordered[0][0].var, loop.min)
    indices = _at(reducer.indices, ops.cast(buffers[0].shape[place].dtype, where), place)
    taken_in = [substitute(source, values) for source in reducer.sources]
    predicate = realize.predicate
    init: st.Stmt | None = None
    if is_true(predicate) and all(axis.iter_type == "spatial" for axis, _ in ordered):
        body = st.stores_at_once(buffers, taken_in, indices)  # of one element each: nothing is left to sum up
    else:
        own = [tir.BufferLoad(buffer, indices) for buffer in buffers]
        body = st.stores_at_once(buffers, reducer.combine(own, taken_in), indices)
        predicate, body = _conditioned(realize, path, body, loop, inside)
        init = st.stmt_seq(*(st.BufferStore(b, start, indices) for b, start in zip(buffers, reducer.starts)))
    made = st.Block([iv for iv, _ in ordered], (), (), label, body, init, annotations=block.annotations)
    return st.BlockRealize(tuple(v for _, v in ordered), predicate, refreshed(made))


def _partial_axes(
    realize: st.BlockRealize, around: list[st.For], loop: st.For
) -> tuple[list[tuple[IterVar, PrimExpr]], dict[Any, Any], dict[Any, Any]]:
    """Axes and their values: the factored loop, then the block's own, but the loops of those that the factored one is
    part of. And what these were in the new axes, and what loops are inside."""
    loops = {item.loop_var: item for item in around}
    by_loop: dict[Any, Any] = {}
    ordered: list[tuple[IterVar, PrimExpr]] = []

    def add(item: st.For, kind: str) -> None:
        axis = tir.Var(f"v{item.loop_var.name}", item.loop_var.dtype)
        by_loop[item.loop_var] = axis
        ordered.append((IterVar(Range(item.min, item.extent), axis, kind), item.loop_var))

    add(loop, "spatial")
    values: dict[Any, Any] = {}
    inside: dict[Any, Any] = {}
    for axis, value in zip(realize.block.iter_vars, realize.iter_values):
        mentioned = list(dict.fromkeys(n for n in post_order(value) if isinstance(n, tir.Var)))
        if loop.loop_var not in mentioned:
            ordered.append((axis, value))
            inside |= {value: axis.var} if isinstance(value, tir.Var) else {}
            continue
        for var in mentioned:
            if var in loops and var not in by_loop:
                add(loops[var], "reduce")
        values[axis.var] = substitute(value, by_loop)
    return ordered, values, {**inside, **by_loop}


def _conditioned(
    realize: st.BlockRealize, path: list[st.Stmt], body: st.Stmt, loop: st.For, inside: dict[Any, Any]
) -> tuple[PrimExpr, st.Stmt]:
    """The conditions of a block, divided: those that hold wherever a partial result starts stay its predicate, the
    others go around `body`, in the names `inside` the block: its start must be written even where nothing is taken in.
    """
    reduced = _reduced(realize, path)
    started: dict[Any, Any] = {item.loop_var: item.min for item in reduced if item is not loop}
    domains = {item.loop_var: Range(item.min, item.extent) for item in path if isinstance(item, st.For)}
    loops = {item.loop_var for item in reduced}
    predicate: PrimExpr = _TRUE
    for term in ops.conjuncts(realize.predicate):
        apart = not any(n in loops for n in post_order(term))
        if apart or Analyzer.over(domains).prove(substitute(term, started)):
            predicate = term if is_true(predicate) else ops.logical_and(predicate, term)
            continue
        condition = substitute(term, inside)
        if any(n in _loop_vars(path) for n in post_order(condition)):
            label = realize.block.name_hint
            raise refuse(f"a condition of block {label} mixes its axes", help="split fewer loops before")
        body = st.IfThenElse(condition, body)
    return predicate, body


def _reduced(realize: st.BlockRealize, path: list[st.Stmt]) -> list[st.For]:
    """The loops around that the reduction runs over."""
    values = zip(realize.block.iter_vars, realize.iter_values)
    mentioned = {n for axis, value in values if axis.iter_type == "reduce" for n in post_order(value)}
    return [item for item in path if isinstance(item, st.For) and item.loop_var in mentioned]


def _loop_vars(path: list[st.Stmt]) -> set[tir.Var]:
    return {item.loop_var for item in path if isinstance(item, st.For)}


def _combined(
    realize: st.BlockRealize, loop: st.For, reducer: Reducer, buffers: list[Buffer], place: int
) -> st.BlockRealize:
    """The reduction of the partial results over the loop, each with the axes it had but those of the reduction."""
    block = realize.block
    own = tir.Var(f"v{loop.loop_var.name}", loop.loop_var.dtype)
    axes: list[tuple[IterVar, PrimExpr]] = [(IterVar(Range(loop.min, loop.extent), own, "reduce"), loop.loop_var)]
    fresh: dict[Any, Any] = {}
    for axis, value in zip(block.iter_vars, realize.iter_values):
        if axis.iter_type != "reduce":
            fresh[axis.var] = axis.var.copy()
            axes.append((IterVar(axis.dom, fresh[axis.var], axis.iter_type), value))
    indices = tuple(substitute(i, fresh) for i in reducer.indices)
    results = [store.buffer for store in reducer.stores]
    kept = [tir.BufferLoad(result, indices) for result in results]
    number = ops.cast(buffers[0].shape[place].dtype, ops.subtract(own, loop.min))
    partial = [tir.BufferLoad(buffer, _at(indices, number, place)) for buffer in buffers]
    update = st.stores_at_once(results, reducer.combine(kept, partial), indices)
    init = None if block.init is None else substitute(block.init, fresh)
    made = st.Block([axis for axis, _ in axes], (), (), block.name_hint, update, init, annotations=block.annotations)
    return st.BlockRealize(tuple(value for _, value in axes), _TRUE, refreshed(made))


def _nest_of_loops(combined: st.BlockRealize, realize: st.BlockRealize, path: list[st.Stmt], loop: st.For) -> st.Stmt:
    """The loops around but those of the reduction, the factored one excepted; conditions on them are kept."""
    reduced = [item for item in _reduced(realize, path) if item is not loop]
    gone = {item.loop_var for item in (*reduced, loop)}
    terms = [term for term in ops.conjuncts(realize.predicate) if not any(n in gone for n in post_order(term))]
    for term in terms:
        combined = with_condition(combined, term)
    nest: st.Stmt = combined
    outer = enclosing_block(path)
    for item in reversed(path[outer + 1 :]):
        if isinstance(item, st.For) and item not in reduced:
            nest = item.with_fields(body=nest)
    return nest


def _nest_over_axes(combined: st.BlockRealize) -> st.Stmt:
    """Loops over the axes, those of the reduction last."""
    axes = sorted(combined.block.iter_vars, key=lambda axis: axis.iter_type == "reduce")
    loops = {axis.var: tir.Var(f"ax_{axis.var.name.removeprefix('v_')}", axis.var.dtype) for axis in axes}
    values = tuple(loops[axis.var] for axis in combined.block.iter_vars)
    nest: st.Stmt = combined.with_fields(iter_values=values)
    for axis in reversed(axes):
        assert axis.dom is not None
        nest = st.For(loops[axis.var], axis.dom.min, axis.dom.extent, st.ForKind.SERIAL, nest)
    return nest
