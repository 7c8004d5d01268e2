"""Turn a loop nest into a block: the body of a loop becomes one unit, with axes for the outer part.

for i0, j0: for i1 in 4, j1 in 4: block C (vi = i0 * 4 + i1, vj = j0 * 4 + j1): C[vi, vj] = 0
    ->  for i0, j0: block C_o (vi_o = i0, vj_o = j0): for i1, j1: block C (vi_i = i1, vj_i = j1):
            C[vi_o * 4 + vi_i, vj_o * 4 + vj_i] = 0
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.conditions.coverage import require_once
from baton._src.tir.schedule.transformations.buffer_accesses import with_simple_indices
from baton._src.tir.schedule.tree import (
    find_loop,
    is_true,
    path_to,
    realizes,
    refreshed,
    refuse,
    replace,
    simplify,
    unused_name,
)
from baton._src.tir.schedule.views import of_buffers
from baton._src.tir.text.printer import node_text

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
    """The loop over `var` and all below it as a block `<name>_o`. Only one block may be inside.

    Each of its conditions is on loops outside or on loops inside. Axes with a single value, outside and inside, are 0
    in the block unless `preserve_unit_iters`.
    """
    loop = find_loop(root, var)
    inside = realizes(loop)
    if len(inside) != 1:
        raise refuse(f"blockize takes a loop around one block; {var.name} is around {len(inside)}")
    realize = inside[0]
    block = realize.block
    below = [item for item in path_to(loop, realize) if isinstance(item, st.For)]
    if block.init is not None:
        require_once(realize, below)  # the init will stand in front of them
    parts = divided(realize, below, preserve_unit_iters)
    body = replace(loop, {realize: parts.realize})
    begin = unused_name(root, f"{block.name_hint}_init")
    init = None if block.init is None else _initialisation(parts, below, begin)
    label = unused_name(root, f"{block.name_hint}_o")
    made = refreshed(st.Block(parts.outer, (), (), label, body, init))
    return replace(root, {loop: st.BlockRealize(parts.outside, parts.condition, made)}), label


@dataclass(frozen=True)
class Divided:
    """A block divided: the axes of the part outside, their values and its condition; the part inside, and the block
    over its axes with the initialisation that it lost.
    """

    outer: tuple[IterVar, ...]
    outside: tuple[PrimExpr, ...]
    condition: PrimExpr
    realize: st.BlockRealize
    init: st.Stmt | None


def divided(
    realize: st.BlockRealize,
    below: Sequence[st.For],
    preserve_unit_iters: bool,
    shared: Sequence[IterVar] = (),
) -> Divided:
    """A block divided at the loops `below`, its axes outside being `shared` ones if there are such.

    Error `schedule`: an axis, or a condition, does not divide.
    """
    block, ranges = realize.block, {item.loop_var: Range(item.min, item.extent) for item in below}
    variables = itertools.chain((axis.var for axis in shared), itertools.repeat(None))
    found = [
        _divided_axis(axis, value, ranges, block.name_hint, preserve_unit_iters, own)
        for axis, value, own in zip(block.iter_vars, realize.iter_values, variables)
    ]
    inner = [(a.inner, a.within) for a in found if a.inner is not None]
    changed = substitute(block.with_fields(iter_vars=()), {a.old.var: a.value for a in found})
    changed = with_simple_indices(changed, {iv.var: iv.dom for iv, _ in inner if iv.dom is not None})
    own = refreshed(changed.with_fields(iter_vars=tuple(iv for iv, _ in inner), init=None))
    conditions = _divided_conditions(realize, ranges)
    return Divided(
        tuple(a.outer for a in found),
        tuple(a.outside for a in found),
        conditions[0],
        st.BlockRealize(tuple(within for _, within in inner), conditions[1], own),
        None if changed.init is None else of_buffers(changed, changed.init),
    )


def _divided_conditions(realize: st.BlockRealize, inner: Mapping[tir.Var, Range]) -> tuple[PrimExpr, PrimExpr]:
    """The conditions of a block that are on loops outside, and those on loops inside."""
    outside: PrimExpr = _TRUE
    inside: PrimExpr = _TRUE
    for part in ops.conjuncts(realize.predicate):
        variables = {n for n in post_order(part) if isinstance(n, tir.Var)}
        if variables.isdisjoint(inner):
            outside = part if is_true(outside) else ops.logical_and(outside, part)
        elif variables <= set(inner):
            inside = part if is_true(inside) else ops.logical_and(inside, part)
        else:
            name = realize.block.name_hint
            raise refuse(f"block {name} runs under {node_text(part)}, a condition on loops inside and outside")
    return outside, inside


def _divided_axis(
    axis: IterVar,
    binding: PrimExpr,
    ranges: Mapping[tir.Var, Range],
    name: str,
    preserve_unit_iters: bool,
    shared: tir.Var | None,
) -> _Axis:
    outside, within, size = _divided(binding, axis, ranges, name)
    assert axis.dom is not None
    zero = tir.IntImm(axis.var.dtype, 0)
    if size is axis.extent:
        outer_dom, inner_dom = Range(zero, tir.IntImm(axis.var.dtype, 1)), axis.dom
    else:
        outer_dom, inner_dom = _in_steps(axis.dom, size), Range(zero, size)
    own = tir.Var(f"{axis.var.name}_o", axis.var.dtype) if shared is None else shared
    outer = IterVar(outer_dom, own, axis.iter_type)
    is_one = ops.is_const(outer_dom.extent, 1)
    if ops.is_const(size, 1):
        value = outer_dom.min if is_one and not preserve_unit_iters else outer.var
        return _Axis(axis, outer, outside, None, within, value)
    inner = IterVar(inner_dom, tir.Var(f"{axis.var.name}_i", axis.var.dtype), axis.iter_type)
    value = ops.add(ops.multiply(outer_dom.min if is_one else outer.var, size), inner.var)
    return _Axis(axis, outer, outside, inner, within, simplify(value) if is_one else value)


def _in_steps(dom: Range, size: PrimExpr) -> Range:
    """The steps of `size` that a range reaches into."""
    first = simplify(ops.floordiv(dom.min, size))
    last = ops.ceildiv(ops.add(dom.min, dom.extent), size)
    return Range(first, simplify(ops.subtract(last, first)))


def _divided(
    value: PrimExpr, axis: IterVar, inner: Mapping[tir.Var, Range], name: str
) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
    """(q, r, n) with value = q * n + r, where r runs over [0, n) with the inner loops and q does not depend on them."""
    one, zero = tir.IntImm(value.dtype, 1), tir.IntImm(value.dtype, 0)
    variables = {n for n in post_order(value) if isinstance(n, tir.Var)}
    if variables.isdisjoint(inner):
        return value, zero, one
    if variables <= set(inner) and not isinstance(axis.extent, tir.IntImm):
        return zero, value, axis.extent
    start: dict[Any, Any] = {v: r.min for v, r in inner.items()}
    base = simplify(substitute(value, start))
    within = simplify(ops.subtract(value, base))
    if any(isinstance(n, tir.Var) and n not in inner for n in post_order(within)):
        raise refuse(f"an axis of block {name} does not divide into loops inside and outside")
    span = eval_set(within, dict(inner))
    extent = span.extent()
    if extent is None or not isinstance(extent, tir.IntImm):
        raise refuse(f"how far an axis of block {name} goes inside is not a constant")
    if not ops.is_const(span.min, 0):
        raise refuse(f"an axis of block {name} does not start at 0 inside")
    size = tir.IntImm(value.dtype, extent.value)
    rest = simplify(ops.floormod(base, size))
    if not ops.is_const(rest, 0):
        raise refuse(f"an axis of block {name} starts inside at what is not a multiple of {extent.value}")
    return simplify(ops.floordiv(base, size)), within, size


def _initialisation(parts: Divided, below: Sequence[st.For], label: str) -> st.Stmt:
    """The initialisation of a reduction, a block `label`, for all elements of the outer block, over the data-parallel
    loops inside.
    """
    inner, start = parts.realize.block, parts.init
    assert start is not None
    mentioned = set(post_order(start))
    pairs = zip(inner.iter_vars, parts.realize.iter_values)
    used = [(axis, value) for axis, value in pairs if axis.iter_type != "reduce" and axis.var in mentioned]
    own = {axis.var: tir.Var(f"{axis.var.name}_init", axis.var.dtype) for axis, _ in used}
    iters = [IterVar(axis.dom, own[axis.var]) for axis, _ in used]
    values = tuple(value for _, value in used)
    name = inner.name_hint
    variables = {n for value in values for n in post_order(value)}
    loops = [item for item in below if item.loop_var in variables]
    condition = parts.realize.predicate
    if any(item.loop_var in post_order(condition) for item in below if item not in loops):
        raise refuse(
            f"block {name} runs under {node_text(condition)}, which its initialisation knows nothing of",
            help="decompose_reduction before",
        )
    made = refreshed(st.Block(iters, (), (), label, substitute(start, own)))
    fresh: dict[Any, Any] = {item.loop_var: item.loop_var.copy() for item in loops}
    nest: st.Stmt = substitute(st.BlockRealize(values, condition, made), fresh)
    for item in reversed(loops):
        nest = st.For(fresh[item.loop_var], item.min, item.extent, st.ForKind.SERIAL, nest)
    return nest
