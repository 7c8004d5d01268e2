"""Reductions in two steps: partial results for each iteration of a loop, then their combination.

C[i] = sum(A[i, ko * 4 + ki])      ->      C_rf[i, ki] = sum over ko, then C[i] = sum over ki of C_rf[i, ki]
"""

from __future__ import annotations

import itertools
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.coverage import require_whole
from baton._src.tir.schedule.reducers import Reducer, reducer_of
from baton._src.tir.schedule.tree import find_block, find_loop, is_true, path_to, refreshed, refuse, replace

_TRUE = tir.IntImm("bool", 1)


def rfactor(root: st.Stmt, name: str, var: tir.Var, factor_axis: int) -> tuple[st.Stmt, str]:
    """The reduction in two steps; the new block `<name>_rf` has the loops, the block `name` loops of its own behind."""
    realize = find_block(root, name)
    loop = find_loop(root, var)
    path = path_to(root, realize)
    if loop not in path:
        raise refuse(f"the loop over {var.name} is not around block {name}")
    _require_alone(path, name)
    require_whole(root, realize, realize.block.iter_vars)
    reducer = reducer_of(realize.block)
    rank = len(reducer.indices)
    place = factor_axis if factor_axis >= 0 else factor_axis + rank + 1
    if not 0 <= place <= rank:
        raise refuse(f"factor_axis {factor_axis}: the partial results of {name} have {rank + 1} dims")
    buffers = [_partial_buffer(store.buffer, loop, place) for store in reducer.stores]
    first, label = _partial(realize, path, loop, reducer, buffers, place)
    second = _combined(realize, loop, reducer, buffers, place)
    outer = max(i for i, item in enumerate(path[:-1]) if isinstance(item, st.Block))
    top = path[outer + 1]
    if isinstance(top, st.SeqStmt):
        top = path[outer + 2]
    changed = replace(root, {top: st.SeqStmt((replace(top, {realize: first}), second))})
    scope = path[outer]
    assert isinstance(scope, st.Block)
    found = find_scope(changed, scope)
    with_memory = found.with_fields(alloc_buffers=(*found.alloc_buffers, *buffers), body=flat(found.body))
    return replace(changed, {found: with_memory}), label


def _require_alone(path: list[st.Stmt], name: str) -> None:
    """Nothing else stands in the loops around: it would run before the partial results are combined."""
    outer = max(i for i, item in enumerate(path[:-1]) if isinstance(item, st.Block))
    inside = itertools.dropwhile(lambda item: not isinstance(item, st.For), path[outer + 1 :])
    if not all(isinstance(item, st.For | st.BlockRealize) for item in inside):
        raise refuse(
            f"the loops around block {name} hold other blocks, too, which would not see its result",
            help="rfactor before other blocks are moved to these loops",
        )


def find_scope(root: st.Stmt, block: st.Block) -> st.Block:
    """The block of that name, after its body changed."""
    if not block.name_hint:
        return next(n for n in reversed(post_order(root)) if isinstance(n, st.Block))
    return find_block(root, block.name_hint).block


def flat(body: st.Stmt) -> st.Stmt:
    """A sequence without sequences directly in it."""
    if not isinstance(body, st.SeqStmt):
        return body
    return st.SeqStmt(tuple(part for s in body.seq for part in (s.seq if isinstance(s, st.SeqStmt) else (s,))))


def _partial_buffer(buffer: Buffer, loop: st.For, place: int) -> Buffer:
    dtype = buffer.shape[0].dtype if buffer.shape else loop.extent.dtype
    shape = (*buffer.shape[:place], ops.cast(dtype, loop.extent), *buffer.shape[place:])
    return decl_buffer(shape, buffer.dtype, f"{buffer.name}_rf")


def _at(indices: tuple[PrimExpr, ...], extra: PrimExpr, place: int) -> tuple[PrimExpr, ...]:
    return (*indices[:place], extra, *indices[place:])


def _partial(
    realize: st.BlockRealize,
    path: list[st.Stmt],
    loop: st.For,
    reducer: Reducer,
    buffers: list[Buffer],
    place: int,
) -> tuple[st.BlockRealize, str]:
    """The block of the partial results: each loop of the reduction is an axis of its own, the factored one spatial."""
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
    axes: dict[tir.Var, IterVar] = {}
    for item in around:
        kind = "spatial" if item is loop else "reduce"
        axis = tir.Var(f"v{item.loop_var.name}", item.loop_var.dtype)
        axes[item.loop_var] = IterVar(Range(item.min, item.extent), axis, kind)
    by_loop: dict[Any, Any] = {v: axis.var for v, axis in axes.items()}
    values: dict[Any, Any] = {iv.var: substitute(v, by_loop) for iv, v in reduced}
    where = ops.subtract(axes[loop.loop_var].var, loop.min)
    indices = _at(reducer.indices, ops.cast(buffers[0].shape[place].dtype, where), place)
    own = [tir.BufferLoad(buffer, indices) for buffer in buffers]
    taken_in = [substitute(source, values) for source in reducer.sources]
    body = st.stores_at_once(buffers, reducer.combine(own, taken_in), indices)
    inside = {**by_loop, **{v: iv.var for iv, v in spatial if isinstance(v, tir.Var)}}
    predicate, body = _conditioned(realize, path, body, set(axes), inside)
    init = st.stmt_seq(*(st.BufferStore(b, start, indices) for b, start in zip(buffers, reducer.starts)))
    label = f"{block.name_hint}_rf"
    ordered = [(iv, v) for iv, v in spatial] + [(axes[i.loop_var], i.loop_var) for i in around]
    made = st.Block([iv for iv, _ in ordered], (), (), label, body, init, annotations=block.annotations)
    return st.BlockRealize(tuple(v for _, v in ordered), predicate, refreshed(made)), label


def _conditioned(
    realize: st.BlockRealize, path: list[st.Stmt], body: st.Stmt, reduced: set[tir.Var], inside: dict[Any, Any]
) -> tuple[PrimExpr, st.Stmt]:
    """The conditions of a block, divided: those that speak of `reduced` loops go around `body`, in the names `inside`
    the block; the others stay its predicate. The start of a partial result must be written even where nothing is taken
    in."""
    predicate: PrimExpr = _TRUE
    for term in _terms(realize.predicate):
        if not any(n in reduced for n in post_order(term)):
            predicate = term if is_true(predicate) else ops.logical_and(predicate, term)
            continue
        condition = substitute(term, inside)
        if any(n in _loop_vars(path) for n in post_order(condition)):
            label = realize.block.name_hint
            raise refuse(f"a condition of block {label} mixes its axes", help="split fewer loops before")
        body = st.IfThenElse(condition, body)
    return predicate, body


def _terms(condition: PrimExpr) -> list[PrimExpr]:
    """What a conjunction consists of."""
    found, pending = [], [condition]
    while pending:
        term = pending.pop()
        if isinstance(term, tir.And):
            pending += [term.b, term.a]
        elif not is_true(term):
            found.append(term)
    return found


def _loop_vars(path: list[st.Stmt]) -> set[tir.Var]:
    return {item.loop_var for item in path if isinstance(item, st.For)}


def _combined(realize: st.BlockRealize, loop: st.For, reducer: Reducer, buffers: list[Buffer], place: int) -> st.Stmt:
    """The reduction of the partial results, in a nest of its own."""
    block = realize.block
    fresh: dict[Any, Any] = {}
    iters: list[IterVar] = []
    for axis in block.iter_vars:
        if axis.iter_type != "reduce":
            fresh[axis.var] = own = tir.Var(axis.var.name, axis.var.dtype)
            iters.append(IterVar(axis.dom, own, axis.iter_type))
    extent = buffers[0].shape[place]
    rest = tir.Var(f"v{loop.loop_var.name}", extent.dtype)
    iters.append(IterVar(Range(tir.IntImm(extent.dtype, 0), extent), rest, "reduce"))
    indices = tuple(substitute(i, fresh) for i in reducer.indices)
    results = [store.buffer for store in reducer.stores]
    kept = [tir.BufferLoad(result, indices) for result in results]
    partial = [tir.BufferLoad(buffer, _at(indices, rest, place)) for buffer in buffers]
    update = st.stores_at_once(results, reducer.combine(kept, partial), indices)
    made = refreshed(st.Block(iters, (), (), block.name_hint, update, substitute(block.init, fresh)))
    loops = [tir.Var(f"ax_{iv.var.name.removeprefix('v_')}", iv.var.dtype) for iv in iters]
    nest: st.Stmt = st.BlockRealize(tuple(loops), _TRUE, made)
    for var, axis in zip(reversed(loops), reversed(iters)):
        assert axis.dom is not None
        nest = st.For(var, axis.dom.min, axis.dom.extent, st.ForKind.SERIAL, nest)
    return nest
