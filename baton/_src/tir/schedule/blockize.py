"""A loop nest as a block of its own: what is below a loop becomes one unit, with axes for what is outside.

for i0, j0: for i1 in 4, j1 in 4: block C (vi = i0 * 4 + i1, vj = j0 * 4 + j1)
    ->  for i0, j0: block C_o (vio = i0, vjo = j0): for i1, j1: block C (vi = vio * 4 + i1, vj = vjo * 4 + j1)
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.tree import find_loop, is_true, path_to, realizes, refreshed, refuse, replace, simplify

_TRUE = tir.IntImm("bool", 1)


def blockize(root: st.Stmt, var: tir.Var) -> tuple[st.Stmt, str]:
    """The loop over `var` and all below it as a block `<name>_o`. Only one block may be inside, without condition."""
    loop = find_loop(root, var)
    inside = realizes(loop)
    if len(inside) != 1 or not is_true(inside[0].predicate):
        raise refuse(f"blockize takes a loop around one block without a condition; {var.name} is around {len(inside)}")
    realize = inside[0]
    block = realize.block
    inner = {item.loop_var: Range(item.min, item.extent) for item in path_to(loop, realize) if isinstance(item, st.For)}
    axes: list[IterVar] = []
    values: list[PrimExpr] = []
    bindings: list[PrimExpr] = []
    for axis, value in zip(block.iter_vars, realize.iter_values):
        outside, within, extent = _divided(value, inner, block.name_hint)
        own = tir.Var(f"{axis.var.name}_o", axis.var.dtype)
        assert axis.dom is not None
        count = simplify(ops.ceildiv(axis.dom.extent, extent))
        axes.append(IterVar(Range(tir.IntImm(own.dtype, 0), count), own, axis.iter_type))
        values.append(outside)
        bindings.append(simplify(ops.add(ops.multiply(own, extent), within)))
    init = None if block.init is None else _initialisation(block, axes, bindings, inner)
    new = realize.with_fields(
        iter_values=tuple(bindings), block=block.with_fields(init=None) if init is not None else block
    )
    body = replace(loop, {realize: new})
    label = f"{block.name_hint}_o"
    made = refreshed(st.Block(axes, (), (), label, body, init))
    return replace(root, {loop: st.BlockRealize(tuple(values), _TRUE, made)}), label


def _divided(value: PrimExpr, inner: dict[tir.Var, Range], name: str) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    """(q, r, n) with value = q * n + r, where r runs over [0, n) with the inner loops and q does not depend on them."""
    start: dict[Any, Any] = {v: r.min for v, r in inner.items()}
    base = simplify(substitute(value, start))
    within = simplify(ops.subtract(value, base))
    if any(isinstance(n, tir.Var) and n not in inner for n in post_order(within)):
        raise refuse(f"an axis of block {name} does not divide into loops inside and outside")
    span = eval_set(within, inner)
    extent = span.extent()
    if extent is None or not isinstance(extent, tir.IntImm):
        raise refuse(f"how far an axis of block {name} goes inside is no constant")
    if not (isinstance(span.min, tir.IntImm) and span.min.value == 0):
        raise refuse(f"an axis of block {name} does not start at 0 inside")
    size = tir.IntImm(value.dtype, extent.value)
    rest = simplify(ops.floormod(base, size))
    if not (isinstance(rest, tir.IntImm) and rest.value == 0):
        raise refuse(f"an axis of block {name} starts inside at what is no multiple of {extent.value}")
    return simplify(ops.floordiv(base, size)), within, size


def _initialisation(
    block: st.Block, axes: list[IterVar], bindings: list[PrimExpr], inner: dict[tir.Var, Range]
) -> st.Stmt:
    """The start of a reduction for all that the outer block covers, over the data-parallel loops inside."""
    spatial = [(iv, b) for iv, b in zip(block.iter_vars, bindings) if iv.iter_type != "reduce"]
    used = {n for _, b in spatial for n in post_order(b) if n in inner}
    fresh: dict[Any, Any] = {v: tir.Var(f"{v.name}_init", v.dtype) for v in inner if v in used}
    own: dict[Any, Any] = {iv.var: tir.Var(f"{iv.var.name}_init", iv.var.dtype) for iv, _ in spatial}
    assert block.init is not None
    iters = [IterVar(iv.dom, own[iv.var]) for iv, _ in spatial]
    made = refreshed(st.Block(iters, (), (), f"{block.name_hint}_init", substitute(block.init, own)))
    nest: st.Stmt = st.BlockRealize(tuple(substitute(b, fresh) for _, b in spatial), _TRUE, made)
    for var in reversed([v for v in inner if v in used]):
        nest = st.For(fresh[var], inner[var].min, inner[var].extent, st.ForKind.SERIAL, nest)
    return nest
