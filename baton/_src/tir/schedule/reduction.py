"""Reductions: the initialisation as a block of its own."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.expr import IterVar
from baton._src.tir.reductions import condition_at_start, variables_of
from baton._src.tir.schedule.coverage import require_once
from baton._src.tir.schedule.tree import find_block, find_loop, path_to, refreshed, refuse, replace, simplify


def decompose_reduction(root: st.Stmt, name: str, var: tir.Var) -> tuple[st.Stmt, str]:
    """The block's initialisation, as the block `<name>_init` in front of the loop over `var`; what is left is called
    `<name>_update`."""
    realize = find_block(root, name)
    block = realize.block
    if block.init is None:
        raise refuse(f"block {name} has no initialisation")
    loop = find_loop(root, var)
    path = path_to(loop, realize)
    below = [item for item in path if isinstance(item, st.For)]
    reduced = variables_of(realize, reducing=True)
    outer = [item for item in path_to(root, loop)[:-1] if isinstance(item, st.For)]
    if any(item.loop_var in reduced for item in outer):
        raise refuse(f"a loop outside of {var.name} reduces: the initialisation would run more than once")
    fused = next((v for v in variables_of(realize, reducing=False) if v in reduced), None)
    if fused is not None:
        raise refuse(
            f"the loop over {fused.name} runs a reduced and another axis",
            help="decompose_reduction before they are fused",
        )
    require_once(realize, below)
    fresh_axes: dict[tir.Var, PrimExpr] = {}
    iters: list[IterVar] = []
    values: list[PrimExpr] = []
    start: dict[Any, Any] = {item.loop_var: item.min for item in below if item.loop_var in reduced}
    fresh = {
        i.loop_var: tir.Var(f"{i.loop_var.name}_init", i.loop_var.dtype) for i in below if i.loop_var not in reduced
    }
    for axis, value in zip(block.iter_vars, realize.iter_values):
        if axis.iter_type == "reduce":
            continue
        own = tir.Var(axis.var.name, axis.var.dtype)
        fresh_axes[axis.var] = own
        iters.append(IterVar(axis.dom, own))
        values.append(substitute(value, fresh))
    body = substitute(block.init, fresh_axes)
    label = f"{name}_init"
    init = refreshed(st.Block(tuple(iters), (), (), label, body, annotations=block.annotations))
    predicate = condition_at_start(realize.predicate, start, variables_of(realize, reducing=False))
    predicate = simplify(substitute(predicate, fresh))
    used = {n for e in (*values, predicate) for n in post_order(e)}
    nest: st.Stmt = st.BlockRealize(tuple(values), predicate, init)
    for item in reversed(below):
        if item.loop_var in fresh and fresh[item.loop_var] in used:
            nest = st.For(fresh[item.loop_var], item.min, item.extent, st.ForKind.SERIAL, nest)
    own_reads = {r.buffer for r in block.reads}
    reads = (*(w for w in block.writes if w.buffer not in own_reads), *block.reads)
    update = block.with_fields(init=None, reads=reads, name_hint=f"{name}_update")
    updated = replace(loop, {realize: realize.with_fields(block=update)})
    return replace(root, {loop: st.SeqStmt((nest, updated))}), label
