"""Copies of the part of a buffer that an iteration of a loop uses, each made by one block (`read_at`, `write_at`).

    for i: for j: B[i, j] = A[i, j]   ->   for i: { block A_local: for ax: A_local[i, ax] = A[i, ax] }; for j: ...

`cache_read` and `compute_at` make the same copy element by element; what is copied by one block can be lowered as a
whole.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.transformations import cache, compute_at
from baton._src.tir.schedule.tree import find_block, find_loop, is_true, path_to, refreshed, replace


def read_at(root: st.Stmt, var: tir.Var, name: str, index: int, scope: str) -> tuple[st.Stmt, str]:
    """Let the block read its `index`-th buffer through a copy that each iteration of the loop makes first."""
    body, copy = cache.cache_read(root, name, index, scope, [name])
    return _in_one_block(compute_at.compute_at(body, copy, var, unit_loops=True), copy, var), copy


def write_at(root: st.Stmt, var: tir.Var, name: str, index: int, scope: str) -> tuple[st.Stmt, str]:
    """Let the block write a copy of its `index`-th buffer, which each iteration of the loop copies back."""
    body, copy = cache.cache_write(root, name, index, scope)
    return _in_one_block(compute_at.reverse_compute_at(body, copy, var, unit_loops=True), copy, var), copy


def _in_one_block(root: st.Stmt, name: str, var: tir.Var) -> st.Stmt:
    """The block `name` with the loops between it and the loop over `var` inside, and the loops outside as its axes."""
    realize = find_block(root, name)
    path = path_to(root, realize)
    place = path.index(find_loop(root, var))
    outer = {item.loop_var: Range(item.min, item.extent) for item in path[: place + 1] if isinstance(item, st.For)}
    inner = [item for item in path[place + 1 :] if isinstance(item, st.For)]
    values: dict[Any, Any] = {axis.var: value for axis, value in zip(realize.block.iter_vars, realize.iter_values)}
    copy: st.Stmt = substitute(realize.block.body, values)
    if not is_true(realize.predicate):
        copy = st.IfThenElse(realize.predicate, copy)
    for item in reversed(inner):
        copy = item.with_fields(body=copy)
    used = dict.fromkeys(n for value in values.values() for n in post_order(value) if n in outer)
    axes: dict[Any, Any] = {loop: tir.Var(f"v{n}", loop.dtype) for n, loop in enumerate(used)}
    own = [IterVar(outer[loop], axis) for loop, axis in axes.items()]
    block = refreshed(st.Block(own, (), (), name, substitute(copy, axes), annotations={"auto_copy": 1}))
    return replace(root, {inner[0] if inner else realize: st.BlockRealize(tuple(used), tir.IntImm("bool", 1), block)})
