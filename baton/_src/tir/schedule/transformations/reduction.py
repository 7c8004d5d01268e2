"""Split the initialisation of a reduction into a separate block."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.reductions import condition_at_start, variables_of
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.conditions.coverage import require_once
from baton._src.tir.schedule.tree import (
    bound_by,
    find_block,
    find_loop,
    path_to,
    refreshed,
    refuse,
    replace,
    require_around,
    simplify,
    unused_name,
)
from baton._src.tir.schedule.views import of_buffers


def decompose_reduction(root: st.Stmt, name: str, var: tir.Var) -> tuple[st.Stmt, str]:
    """Move the block's initialisation to a block `<name>_init` before the loop over `var`; the remaining block is
    called `<name>_update`.
    """
    realize, loop = find_block(root, name), find_loop(root, var)
    require_around(loop, realize)
    outer = bound_by(path_to(root, loop)[:-1])
    below = [item for item in path_to(loop, realize) if isinstance(item, st.For)]
    _check(realize, outer, below, var)
    label = unused_name(root, f"{name}_init")
    nest = _initialisation(realize, below, label)
    rest = f"{realize.block.name_hint}_update"
    if unused_name(root, rest) != rest:
        rest = realize.block.name_hint  # the handle would be taken for the other block
    updated = replace(loop, {realize: realize.with_fields(block=_update(realize.block, rest))})
    return replace(root, {loop: st.SeqStmt((nest, updated))}), label


def _check(realize: st.BlockRealize, outer: set[tir.Var], below: list[st.For], var: tir.Var) -> None:
    """Refuse blocks that have no initialisation, or whose own could not run once before the loops `below`."""
    if realize.block.init is None:
        raise refuse(f"block {realize.block.name_hint} has no initialisation")
    reduced = variables_of(realize, reducing=True)
    if carried := outer & reduced:
        outside = min(v.name for v in carried)
        raise refuse(f"{outside}, outside of {var.name}, reduces: the initialisation would run more than once")
    fused = next((v for v in variables_of(realize, reducing=False) if v in reduced), None)
    if fused is not None:
        raise refuse(
            f"the loop over {fused.name} runs a reduced and another axis",
            help="decompose_reduction before they are fused",
        )
    require_once(realize, below)


def _initialisation(realize: st.BlockRealize, below: list[st.For], label: str) -> st.Stmt:
    """The initialisation as a block with axes of its own, in copies of those loops that it needs."""
    reduced = variables_of(realize, reducing=True)
    fresh = {
        i.loop_var: tir.Var(f"{i.loop_var.name}_init", i.loop_var.dtype) for i in below if i.loop_var not in reduced
    }
    block, values = _init_block(realize, fresh, label)
    start: dict[Any, Any] = {item.loop_var: item.min for item in below if item.loop_var in reduced}
    predicate = condition_at_start(realize.predicate, start, variables_of(realize, reducing=False))
    predicate = simplify(substitute(predicate, fresh))
    used = {n for e in (*values, predicate) for n in post_order(e)}
    nest: st.Stmt = st.BlockRealize(values, predicate, block)
    for item in reversed(below):
        if item.loop_var in fresh and fresh[item.loop_var] in used:
            nest = st.For(fresh[item.loop_var], item.min, item.extent, st.ForKind.SERIAL, nest)
    return nest


def _init_block(
    realize: st.BlockRealize, fresh: dict[tir.Var, tir.Var], label: str
) -> tuple[st.Block, tuple[PrimExpr, ...]]:
    """The block of the initialisation over the axes that do not reduce, and their values in the loops `fresh`."""
    axes: dict[tir.Var, PrimExpr] = {}
    iters: list[IterVar] = []
    values: list[PrimExpr] = []
    for axis, value in zip(realize.block.iter_vars, realize.iter_values):
        if axis.iter_type == "reduce":
            continue
        own = axes[axis.var] = tir.Var(axis.var.name, axis.var.dtype)
        iters.append(IterVar(axis.dom, own))
        values.append(substitute(value, fresh))
    assert realize.block.init is not None
    body = substitute(of_buffers(realize.block, realize.block.init), axes)
    block = st.Block(tuple(iters), (), (), label, body, annotations=realize.block.annotations)
    return refreshed(block), tuple(values)


def _update(block: st.Block, name: str) -> st.Block:
    """The block without its initialisation, under this name: it now reads what it accumulates into."""
    own_reads = {r.buffer for r in block.reads}
    reads = (*(w for w in block.writes if w.buffer not in own_reads), *block.reads)
    return block.with_fields(init=None, reads=reads, name_hint=name)
