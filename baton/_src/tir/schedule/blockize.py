"""Turn a loop nest into a block: the body of a loop becomes one unit, with axes for the outer part.

for i0, j0: for i1 in 4, j1 in 4: block C (vi = i0 * 4 + i1, vj = j0 * 4 + j1): C[vi, vj] = 0
    ->  for i0, j0: block C_o (vi_o = i0, vj_o = j0): for i1, j1: block C (vi_i = i1, vj_i = j1):
            C[vi_o * 4 + vi_i, vj_o * 4 + vj_i] = 0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.buffer_accesses import with_simple_indices
from baton._src.tir.schedule.coverage import require_once
from baton._src.tir.schedule.tree import find_loop, is_true, path_to, realizes, refreshed, refuse, replace, simplify
from baton._src.tir.schedule.views import of_buffers

_TRUE = tir.IntImm("bool", 1)


@dataclass(frozen=True)
class _Axis:
    """An axis of the block, divided: `old` is `outer * n + inner`, with `inner` in range(n); no `inner` if n is 1."""

    old: IterVar
    outer: IterVar
    outside: PrimExpr
    inner: IterVar | None
    within: PrimExpr
    value: PrimExpr
    """`old` in the new variables."""


def blockize(root: st.Stmt, var: tir.Var, preserve_unit_iters: bool = True) -> tuple[st.Stmt, str]:
    """The loop over `var` and all below it as a block `<name>_o`. Only one block may be inside, without condition.

    Axes with a single value, outside and inside, are 0 in the block unless `preserve_unit_iters`.
    """
    loop = find_loop(root, var)
    inside = realizes(loop)
    if len(inside) != 1 or not is_true(inside[0].predicate):
        raise refuse(f"blockize takes a loop around one block without a condition; {var.name} is around {len(inside)}")
    realize = inside[0]
    block = realize.block
    below = [item for item in path_to(loop, realize) if isinstance(item, st.For)]
    if block.init is not None:
        require_once(realize, below)  # the init will stand in front of them
    ranges = {item.loop_var: Range(item.min, item.extent) for item in below}
    axes = [
        _divided_axis(axis, value, ranges, block.name_hint, preserve_unit_iters)
        for axis, value in zip(block.iter_vars, realize.iter_values)
    ]
    inner = [(a.inner, a.within) for a in axes if a.inner is not None]
    changed = substitute(block.with_fields(iter_vars=()), {a.old.var: a.value for a in axes})
    changed = with_simple_indices(changed, {iv.var: iv.dom for iv, _ in inner if iv.dom is not None})
    own = refreshed(changed.with_fields(iter_vars=tuple(iv for iv, _ in inner), init=None))
    body = replace(loop, {realize: st.BlockRealize(tuple(within for _, within in inner), _TRUE, own)})
    init = None if changed.init is None else _initialisation(changed, inner, ranges)
    label = f"{block.name_hint}_o"
    made = refreshed(st.Block([a.outer for a in axes], (), (), label, body, init))
    return replace(root, {loop: st.BlockRealize(tuple(a.outside for a in axes), _TRUE, made)}), label


def _divided_axis(
    axis: IterVar, binding: PrimExpr, ranges: dict[tir.Var, Range], name: str, preserve_unit_iters: bool
) -> _Axis:
    outside, within, size = _divided(binding, ranges, name)
    assert axis.dom is not None
    count = simplify(ops.ceildiv(axis.dom.extent, size))
    zero = tir.IntImm(axis.var.dtype, 0)
    outer = IterVar(Range(zero, count), tir.Var(f"{axis.var.name}_o", axis.var.dtype), axis.iter_type)
    is_one = isinstance(count, tir.IntImm) and count.value == 1
    if size.value == 1:
        return _Axis(axis, outer, outside, None, within, zero if is_one and not preserve_unit_iters else outer.var)
    inner = IterVar(Range(zero, size), tir.Var(f"{axis.var.name}_i", axis.var.dtype), axis.iter_type)
    value = inner.var if is_one else ops.add(ops.multiply(outer.var, size), inner.var)
    return _Axis(axis, outer, outside, inner, within, value)


def _divided(value: PrimExpr, inner: dict[tir.Var, Range], name: str) -> tuple[PrimExpr, PrimExpr, tir.IntImm]:
    """(q, r, n) with value = q * n + r, where r runs over [0, n) with the inner loops and q does not depend on them."""
    start: dict[Any, Any] = {v: r.min for v, r in inner.items()}
    base = simplify(substitute(value, start))
    within = simplify(ops.subtract(value, base))
    if any(isinstance(n, tir.Var) and n not in inner for n in post_order(within)):
        raise refuse(f"an axis of block {name} does not divide into loops inside and outside")
    span = eval_set(within, inner)
    extent = span.extent()
    if extent is None or not isinstance(extent, tir.IntImm):
        raise refuse(f"how far an axis of block {name} goes inside is not a constant")
    if not (isinstance(span.min, tir.IntImm) and span.min.value == 0):
        raise refuse(f"an axis of block {name} does not start at 0 inside")
    size = tir.IntImm(value.dtype, extent.value)
    rest = simplify(ops.floormod(base, size))
    if not (isinstance(rest, tir.IntImm) and rest.value == 0):
        raise refuse(f"an axis of block {name} starts inside at what is not a multiple of {extent.value}")
    return simplify(ops.floordiv(base, size)), within, size


def _initialisation(block: st.Block, axes: list[tuple[IterVar, PrimExpr]], ranges: dict[tir.Var, Range]) -> st.Stmt:
    """The initialisation of a reduction for all elements of the outer block, over the data-parallel loops inside."""
    assert block.init is not None
    start = of_buffers(block, block.init)
    mentioned = set(post_order(start))
    iters: dict[Any, IterVar] = {}
    bindings: list[PrimExpr] = []
    for axis, within in axes:
        if axis.iter_type != "reduce" and axis.var in mentioned:
            iters[axis.var] = IterVar(axis.dom, tir.Var(f"{axis.var.name}_init", axis.var.dtype))
            bindings.append(within)
    body = substitute(start, {old: iter_var.var for old, iter_var in iters.items()})
    made = refreshed(st.Block(list(iters.values()), (), (), f"{block.name_hint}_init", body))
    used = [v for v in ranges if any(v in post_order(binding) for binding in bindings)]
    fresh: dict[Any, Any] = {v: v.copy() for v in used}
    nest: st.Stmt = st.BlockRealize(tuple(substitute(binding, fresh) for binding in bindings), _TRUE, made)
    for var in reversed(used):
        nest = st.For(fresh[var], ranges[var].min, ranges[var].extent, st.ForKind.SERIAL, nest)
    return nest
