"""Copies of a buffer in the order in which a block accesses it, or by a map of the block's axes.

for i, j: block B: B[vi, vj] = A[vj, vi]
    ->  for ax0, ax1: A_reindex[ax0, ax1] = A[ax1, ax0];  for i, j: block B: B[vi, vj] = A_reindex[vi, vj]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import by_pointer
from baton._src.tir.analysis.same_value import same_value, same_values
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.arith.iterators.iter_map import invert
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.index_map import IndexMap
from baton._src.tir.schedule.conditions.coverage import require_own_start, require_whole
from baton._src.tir.schedule.transformations.cache import find_spot, insert_nest
from baton._src.tir.schedule.transformations.layout import buffer_of
from baton._src.tir.schedule.transformations.nests import nest_over
from baton._src.tir.schedule.tree import find_block, refreshed, refuse, simplify, unused_name
from baton._src.tir.schedule.views import without_views


def reindex(root: st.Stmt, name: str, index: int, which: str) -> tuple[st.Stmt, str]:
    """Copy a buffer in the order of the block's axes; the block then reads or writes the copy."""
    root = without_views(root, name)
    realize = find_block(root, name)
    block = realize.block
    buffer = buffer_of(root, name, index, which)
    indices = _only_indices(block, buffer)
    axes = axes_in(block, indices)
    copy = decl_buffer([axis.extent for axis in axes], buffer.dtype, f"{buffer.name}_reindex")
    return _through(root, realize, axes, (buffer, indices), (copy, tuple(axis.var for axis in axes)), which)


def reindex_cache(
    root: st.Stmt, name: str, index: int, which: str, scope: str, index_map: IndexMap
) -> tuple[st.Stmt, str]:
    """Copy a buffer, indexed by a map of the block's axes; the block then reads or writes the copy.

    The index in the copy must determine the index in the buffer, or one element of the copy would represent several.
    """
    root = without_views(root, name)
    realize = find_block(root, name)
    block = realize.block
    buffer = buffer_of(root, name, index, which)
    indices = _only_indices(block, buffer)
    places = tuple(index_map.map_indices([axis.var for axis in block.iter_vars]))
    axes = axes_in(block, (*indices, *places))
    _check_determined(name, buffer, axes, indices, places)
    domains = {axis.var: Range(tir.IntImm(axis.var.dtype, 0), axis.extent) for axis in axes}
    copy = decl_buffer([_size(p, domains, name) for p in places], buffer.dtype, f"{buffer.name}_{scope}", scope=scope)
    return _through(root, realize, axes, (buffer, indices), (copy, places), which)


def _check_determined(
    name: str, buffer: Buffer, axes: list[IterVar], indices: tuple[PrimExpr, ...], places: tuple[PrimExpr, ...]
) -> None:
    used, mapped = (set(_axes_of(axes, given)) for given in (indices, places))
    if used != mapped:
        other = ", ".join(sorted(axis.var.name for axis in used ^ mapped))
        raise refuse(f"{buffer.name} and its copy depend on different axes of block {name}: {other}")
    domains = {axis.var: Range(tir.IntImm(axis.var.dtype, 0), axis.extent) for axis in axes}
    listed = all(any(same_value(i, p) for p in places) for i in indices)
    if not listed and invert(places, [tir.Var(f"p{n}", p.dtype) for n, p in enumerate(places)], domains) is None:
        raise refuse(
            f"the map does not tell which element of {buffer.name} a place of the copy is for, in block {name}",
            help="use a bijective map of the axes, or the buffer's own indices",
        )


def _size(place: PrimExpr, domains: dict[tir.Var, Range], name: str) -> PrimExpr:
    """The number of elements along an axis of the copy."""
    span = eval_set(place, domains)
    if span.max is None or not (isinstance(span.min, tir.IntImm) and span.min.value >= 0):
        raise refuse(f"how far the map reaches over the axes of block {name} is not known")
    return simplify(ops.add(span.max, 1))


def _axes_of(axes: Iterable[IterVar], exprs: Iterable[PrimExpr]) -> list[IterVar]:
    found = {n for e in exprs for n in post_order(e)}
    return [axis for axis in axes if axis.var in found]


def axes_in(block: st.Block, exprs: Sequence[PrimExpr]) -> list[IterVar]:
    """The block's axes that occur, which must start at 0."""
    axes = _axes_of(block.iter_vars, exprs)
    for axis in axes:
        assert axis.dom is not None
        if not ops.is_const(axis.dom.min, 0):
            raise refuse(f"the axis {axis.var.name} of block {block.name_hint} does not start at 0")
    return axes


_BINDERS = (st.For, st.LetStmt, tir.Let)
Place = tuple[Buffer, tuple[PrimExpr, ...]]


def _through(
    root: st.Stmt, realize: st.BlockRealize, axes: list[IterVar], original: Place, copy: Place, which: str
) -> tuple[st.Stmt, str]:
    """The block on the copy instead of the original, and next to it the nest over `axes` that copies."""
    changed = rewrite(realize.block, _redirected(original[0], *copy))
    moved = realize.with_fields(block=refreshed(changed))
    source, target = (copy, original) if which == "write" else (original, copy)
    label = unused_name(root, copy[0].name)
    nest = _copy_of_axes(axes, source, target, label)
    buffer, indices = original
    if which == "read" and any(region.buffer is buffer for region in realize.block.writes):
        raise refuse(
            f"block {realize.block.name_hint} accumulates into {buffer.name}, and would accumulate into a copy"
        )
    if which == "read" and not _always_inside(axes, indices, buffer):
        raise refuse(
            f"block {realize.block.name_hint} reads {buffer.name} at places outside of it, "
            "under a condition that a copy does not have",
            help="cache_read copies the buffer as it lies",
        )
    if which == "write":
        require_own_start(root, realize, original[0])
        require_whole(root, realize, axes)
    if not find_spot(root, realize, lambda r: _accesses(r.block, buffer, which)).is_whole:
        raise refuse(f"{buffer.name} is made or used in loops that block {realize.block.name_hint} stands in")
    return insert_nest(root, realize, moved, nest, copy[0], before=which == "read"), label


def _always_inside(axes: list[IterVar], indices: tuple[PrimExpr, ...], buffer: Buffer) -> bool:
    """Whether indices are places of the buffer for all values of the axes. (Indices that are read are trusted.)"""
    analyzer = Analyzer()
    for axis in axes:
        analyzer.bind(axis.var, axis.dom)
    computed = [
        (index, dim)
        for index, dim in zip(indices, buffer.shape)
        if not any(isinstance(n, tir.BufferLoad) for n in post_order(index))
    ]
    return all(analyzer.prove(index >= 0) and analyzer.prove(index < dim) for index, dim in computed)


def _accesses(block: st.Block, buffer: Buffer, which: str) -> bool:
    """Whether a block has to do with a copy of a buffer that is made before (`read`) or after (`write`) another."""
    regions = block.writes if which == "read" else (*block.reads, *block.writes)
    return any(region.buffer is buffer for region in regions)


def _only_indices(block: st.Block, buffer: Buffer) -> tuple[PrimExpr, ...]:
    kinds = (tir.BufferLoad, st.BufferStore)
    found = [n.indices for n in post_order(block) if isinstance(n, kinds) and n.buffer is buffer]
    if not found or buffer in by_pointer(block):
        raise refuse(f"block {block.name_hint} accesses {buffer.name} by its pointer")
    for other in found[1:]:
        if not same_values(found[0], other):
            raise refuse(f"block {block.name_hint} accesses {buffer.name} at several places")
    inside = [n.loop_var if isinstance(n, st.For) else n.var for n in post_order(block) if isinstance(n, _BINDERS)]
    if not set(inside).isdisjoint(post_order(found[0])):
        raise refuse(f"block {block.name_hint} accesses {buffer.name} at several places, in a loop of its own")
    return found[0]


def _redirected(buffer: Buffer, copy: Buffer, at: tuple[PrimExpr, ...]) -> Any:
    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad) and node.buffer is buffer:
            return tir.BufferLoad(copy, at)
        if isinstance(node, st.BufferStore) and node.buffer is buffer:
            return st.BufferStore(copy, node.value, at)
        return None

    return rule


def _copy_of_axes(axes: list[IterVar], source: Place, target: Place, label: str) -> st.Stmt:
    """The nest over the axes that copies between two places."""
    fresh: dict[Any, Any] = {axis.var: tir.Var(axis.var.name, axis.var.dtype) for axis in axes}
    (read, start), (written, end) = ((b, tuple(substitute(i, fresh) for i in at)) for b, at in (source, target))
    store = st.BufferStore(written, tir.BufferLoad(read, start), end)
    iters = [IterVar(Range(tir.IntImm(a.var.dtype, 0), a.extent), fresh[a.var]) for a in axes]
    return nest_over(iters, refreshed(st.Block(iters, (), (), label, store)))
