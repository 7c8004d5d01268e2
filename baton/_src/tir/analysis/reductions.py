"""Where reductions begin: the loops that carry a block's reduction, and its initialisation in front of them.

    for i: for k: block(vi = i, vk = k) { init: C[vi] = 0; C[vi] += A[vi, vk] }

The reduction of C[i] begins in front of the loop over k, and does so where that loop is empty: its result is then the
identity.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer


def only_block(item: st.Stmt) -> st.BlockRealize | None:
    """The block realised below a chain of loops with nothing else in them."""
    while isinstance(item, st.For):
        item = item.body
    return item if isinstance(item, st.BlockRealize) else None


def variables_of(realize: st.BlockRealize, *, reducing: bool) -> set[tir.Var]:
    """Variables in the values of axes that reduce, or of those that do not."""
    found: set[tir.Var] = set()
    for axis, value in zip(realize.block.iter_vars, realize.iter_values):
        if (axis.iter_type == "reduce") is reducing:
            found |= {n for n in post_order(value) if isinstance(n, tir.Var)}
    return found


def begun(loop: st.For) -> st.Stmt | None:
    """What begins the reduction that `loop` carries, over the loops below that do not reduce; None if `loop` carries
    none by itself. Loops of the reduction further out are taken to be at their start."""
    realize = only_block(loop)
    if realize is None or realize.block.init is None:
        return None
    reducing = variables_of(realize, reducing=True)
    if loop.loop_var not in reducing or reducing & variables_of(realize, reducing=False):
        return None
    start: dict[Any, Any] = {}
    kept: list[st.For] = []
    item: st.Stmt = loop
    while isinstance(item, st.For):
        if item.loop_var in reducing:
            start[item.loop_var] = item.min
        else:
            kept.append(item)
        item = item.body
    found: st.Stmt = _begun_once(realize, start)
    for around in reversed(kept):
        fresh = around.loop_var.copy()
        found = around.with_fields(loop_var=fresh, body=substitute(found, {around.loop_var: fresh}))
    return found


def begun_ahead(loop: st.For, around: Iterable[tir.Var]) -> st.Stmt | None:
    """`begun` in front of `loop`, unless a loop further out, over one of the variables `around`, carries it too."""
    realize = only_block(loop)
    if realize is None or not variables_of(realize, reducing=True).isdisjoint(around):
        return None
    return begun(loop)


def _begun_once(realize: st.BlockRealize, start: dict[Any, Any]) -> st.BlockRealize:
    """The block with its init alone, where the variables in `start` have those values."""
    block = realize.block
    assert block.init is not None
    apart = variables_of(realize, reducing=False)
    values = tuple(substitute(value, start) for value in realize.iter_values)
    return st.BlockRealize(
        values,
        condition_at_start(realize.predicate, start, apart),
        block.with_fields(body=block.init, init=None, alloc_buffers=(), reads=()),
    )


def condition_at_start(predicate: PrimExpr, start: dict[Any, Any], apart: set[tir.Var]) -> PrimExpr:
    """The conditions under which a reduction begins, its loops at `start`; `apart` are the variables of other axes.

    What bounds the reduction alone (k_0 * 4 + k_1 < n, of a split axis) says how much is reduced, not whether: it does
    not hold at the start of an empty one. It counts only where it never lets the start in.
    """
    kept: PrimExpr = tir.IntImm("bool", 1)
    for term in ops.conjuncts(predicate):
        used = {n for n in post_order(term) if isinstance(n, tir.Var)}
        at_start = Analyzer().simplify(substitute(term, start))
        if ops.is_const(at_start, 0) or not used & start.keys() or used & apart:
            kept = ops.logical_and(kept, at_start)
    return kept


__all__ = ["begun", "begun_ahead", "condition_at_start", "only_block", "variables_of"]
