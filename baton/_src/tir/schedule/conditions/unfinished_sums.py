"""Sums that an iteration of a loop goes on with: what uses them sees the first terms only.

for k: { C[..] += A[.., k]; D[..] = C[..] }         D uses sums over k that are not finished
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.schedule.tree import computes, find_loop, path_to, realizes, refuse


def unfinished_sums(root: st.Stmt, realize: st.BlockRealize, var: tir.Var) -> dict[tir.Var, st.Block]:
    """Loops around an iteration of the loop over `var` that reductions go over whose sums the block uses, directly or
    by blocks that run anew in each iteration: before the last one these sums are not complete. With who sums.
    """
    loop = find_loop(root, var)
    outside = {n.loop_var for n in path_to(root, loop) if isinstance(n, st.For)}
    inside = [r for r in realizes(loop) if r is not realize and computes(r.block)]
    found: dict[Buffer, dict[tir.Var, st.Block]] = {}
    for _ in inside:  # each turn one block further, if they are not in order
        known = {buffer: len(loops) for buffer, loops in found.items()}
        for one in inside:
            block, kept = one.block, {axis.var: value for axis, value in zip(one.block.iter_vars, one.iter_values)}
            sums = [v for a in block.iter_vars if a.iter_type != "spatial" for v in post_order(kept[a.var])]
            places = {v for a in block.iter_vars if a.iter_type == "spatial" for v in post_order(kept[a.var])}
            loops = {v: block for v in sums if v in outside}
            for region in block.reads:
                loops |= {v: maker for v, maker in found.get(region.buffer, {}).items() if v not in places}
            for region in block.writes:
                found.setdefault(region.buffer, {}).update(loops)
        if known == {buffer: len(loops) for buffer, loops in found.items()}:
            break
    return {v: maker for region in realize.block.reads for v, maker in found.get(region.buffer, {}).items()}


def not_finished(block: st.Block, partial: Mapping[tir.Var, st.Block]) -> DiagnosticError:
    """The refusal of a block that would use them."""
    maker = next(iter(partial.values()))
    return refuse(f"block {block.name_hint} would use sums of {maker.name_hint} that are not finished")
