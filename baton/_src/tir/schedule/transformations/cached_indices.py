"""Precompute the indices of a block; copy buffers that a block modifies in place.

for i: block B: B[vi] = A[f(vi)]   ->   for i: block index: I[vi] = f(vi);  for i: block B: B[vi] = A[I[vi]]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.same_value import same_value
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.schedule.conditions.independence import require_independent_around
from baton._src.tir.schedule.transformations.cache import copy_nest, find_spot, insert_at, insert_nest, like
from baton._src.tir.schedule.transformations.layout import buffer_of
from baton._src.tir.schedule.transformations.nests import nest_over
from baton._src.tir.schedule.transformations.reindex import axes_in
from baton._src.tir.schedule.tree import find_block, refreshed, refuse, replace, replace_buffer, unused_name

Depends = Callable[[st.BlockRealize], bool]
"""Whether a block must stay on its side of a copy."""


def cache_index(root: st.Stmt, name: str, scope: str, threshold: int = 0) -> tuple[st.Stmt, list[str]]:
    """Buffers for the indices of a block's loads that are computed, each where it occurs more than `threshold` times;
    gives the names of the blocks that compute them."""
    made: list[str] = []
    for number, index in enumerate(_computed_indices(find_block(root, name).block, threshold)):
        label = unused_name(root, f"index_{number}")
        root = _with_index(root, name, index, number, label, scope)
        made.append(label)
    return root, made


def _computed_indices(block: st.Block, threshold: int) -> list[PrimExpr]:
    """The different indices of loads that are computed of the axes and occur more than `threshold` times."""
    found: list[PrimExpr] = []
    counts: Counter[int] = Counter()
    for node in post_order(block.body):
        for index in node.indices if isinstance(node, tir.BufferLoad) else ():
            if isinstance(index, tir.Var | tir.IntImm) or not _only_of_axes(index, block):
                continue
            known = next((n for n, other in enumerate(found) if same_value(index, other)), len(found))
            found += [index] if known == len(found) else []
            counts[known] += 1
    return [index for number, index in enumerate(found) if counts[number] > threshold]


def _only_of_axes(index: PrimExpr, block: st.Block) -> bool:
    """Whether an index is computed of the block's axes and nothing else."""
    nodes = post_order(index)
    variables = {n for n in nodes if isinstance(n, tir.Var)}
    own = {axis.var for axis in block.iter_vars}
    return bool(variables) and variables <= own and not any(isinstance(n, tir.BufferLoad | tir.Call) for n in nodes)


def _with_index(root: st.Stmt, name: str, index: PrimExpr, number: int, label: str, scope: str) -> st.Stmt:
    """A block `label` that computes `index` in front of the block called `name`, which reads it there."""
    realize = find_block(root, name)
    axes = axes_in(realize.block, (index,))
    buffer = decl_buffer([axis.extent for axis in axes], index.dtype, f"index_var_{number}", scope=scope)
    kept = tir.BufferLoad(buffer, tuple(axis.var for axis in axes))

    def rule(node: Node) -> Node | None:
        if isinstance(node, tir.BufferLoad) and node.buffer is not buffer:
            indices = tuple(kept if same_value(i, index) else i for i in node.indices)
            return node.with_fields(indices=indices) if any(i is kept for i in indices) else None
        return None

    block = realize.block
    changed = refreshed(block.with_fields(body=rewrite(block.body, rule)))
    fresh: dict[Any, Any] = {axis.var: axis.var.copy() for axis in axes}
    at = tuple(fresh[axis.var] for axis in axes)
    store = st.BufferStore(buffer, substitute(index, fresh), at)
    iters = [tir.IterVar(Range(tir.IntImm(v.dtype, 0), axis.extent), v) for v, axis in zip(at, axes)]
    nest = nest_over(iters, refreshed(st.Block(iters, (), (), label, store)))
    return insert_nest(root, realize, realize.with_fields(block=changed), nest, buffer, before=True)


def cache_inplace(root: st.Stmt, name: str, index: int, scope: str) -> tuple[st.Stmt, list[str]]:
    """Copy a buffer that a block reads and writes, let the block change the copy, and copy it back; gives the names of
    the two copying blocks."""
    realize = find_block(root, name)
    target = buffer_of(root, name, index, "read")
    if not any(region.buffer is target for region in realize.block.writes):
        raise refuse(f"block {name} reads {target.name} and does not write it", help="cache_read copies what is read")

    def depends(other: st.BlockRealize) -> bool:
        return any(region.buffer is target for region in (*other.block.reads, *other.block.writes))

    copy = like(target, scope)
    whole = [Range(tir.IntImm(dim.dtype, 0), dim) for dim in target.shape]
    before, first = copy_nest(target, copy, whole, unused_name(root, copy.name))
    after, last = copy_nest(copy, target, whole, unused_name(root, f"{copy.name}_back"))
    moved = replace_buffer(realize, target, copy)
    spot = find_spot(root, realize, depends)
    root = insert_at(root, spot, realize, moved, before, copy, before=True)
    made = _behind(root, moved, after, first, depends)
    require_independent_around(moved, made)
    return made, [first, last]


def _behind(root: st.Stmt, moved: st.BlockRealize, nest: st.Stmt, first: str, depends: Depends) -> st.Stmt:
    """`nest` behind the statement with `moved` that the copy was made in front of, by the block `first`."""
    spot = find_spot(root, moved, lambda r: depends(r) or r.block.name_hint == first)
    return replace(root, {spot.statement: st.SeqStmt((spot.statement, nest))})
