"""Whether two iterations of a loop access the same element, one of them storing it: they must not run concurrently.

    for i: A[i] = A[i - 1] + 1                  iteration 2 reads what iteration 1 stores: a conflict
    for i: for j in 4: A[i * 4 + j] = 0         no element is stored by two iterations

Accesses are disjoint only if proven so: by the bounds of an index in two iterations, by indices that determine the
iteration, or by enumerating all iterations. Everything else counts as a conflict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.iteration_points import Points, Unknown
from baton._src.tir.analysis.loop_accesses import Access, Domains, loop_accesses, needed_loops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.iterators.iter_affine_map import detect_iter_map
from baton._src.tir.arith.iterators.iter_nodes import IterSplitExpr
from baton._src.tir.intrinsics import definition

Indices = Sequence[PrimExpr]


class Conflict(NamedTuple):
    """One iteration stores elements that another one may access."""

    store: Access
    other: Access


def conflicts(
    loop: st.For, around: Domains, among: Collection[tir.Var] | None = None, *, between_blocks: bool = False
) -> Iterator[Conflict]:
    """One for each buffer at most, of those that the loop does not allocate: `among` these pointers. `around` are the
    ranges of the loops around this one. `between_blocks`: those of accesses in different blocks only."""
    by_memory: dict[tir.Var, list[Access]] = {}
    stored = {n.buffer.data for n in post_order(loop.body) if isinstance(n, st.BufferStore)}  # its own memory, too
    for access in loop_accesses(loop):
        if access.is_store:
            stored.add(access.buffer.data)
        if among is None or access.buffer.data in among:
            known = by_memory.setdefault(access.buffer.data, [])
            alike = [other for other in known if not between_blocks or other.block == access.block]
            if not any(_is_repeated(access, other) for other in alike):
                known.append(access)
    for memory in by_memory:
        found = by_memory[memory]
        pairs = ((store, other) for store in found if store.is_store for other in found)
        if between_blocks:
            pairs = ((store, other) for store, other in pairs if store.block != other.block)
        conflict = next((pair for pair in pairs if not _are_apart(loop, around, *pair, stored)), None)
        if conflict is not None:
            yield Conflict(*conflict)


def _is_repeated(access: Access, other: Access) -> bool:
    """Whether an access adds nothing: a load of what is also loaded or stored elsewhere, and the like."""
    same_place = access.buffer is other.buffer and access.loops == other.loops and access.is_store <= other.is_store
    same_times = set(other.conditions) <= set(access.conditions)
    return same_place and same_times and structural_equal(access.indices, other.indices)


def _are_apart(loop: st.For, around: Domains, store: Access, other: Access, stored: Collection[tir.Var]) -> bool:
    """Whether no two iterations of the loop store and access one element."""
    if store.buffer is not other.buffer:
        return False  # views of one memory, whose indices cannot be compared
    lasting = [n for n, pair in enumerate(zip(store.indices, other.indices)) if _is_lasting(pair, stored)]
    store, other = (_under_lasting(access, stored) for access in (store, other))
    first, second = ([access.indices[n] for n in lasting] for access in (store, other))
    return (
        _tell_iteration(loop, around, (store, first), (other, second))
        or _have_bounds_apart(loop, around, (store, first), (other, second))
        or (len(lasting) == store.buffer.ndim and _differ_at_all_points(loop, around, store, other))
    )


def _under_lasting(access: Access, stored: Collection[tir.Var]) -> Access:
    """The access under those of its conditions that can be compared between iterations."""
    return access._replace(conditions=tuple(c for c in access.conditions if _is_lasting((c,), stored)))


def _is_lasting(indices: Indices, stored: Collection[tir.Var]) -> bool:
    """Whether indices have the same value whenever they are computed in an iteration."""
    nodes = post_order(list(indices))
    changing = any(isinstance(n, tir.BufferLoad) and n.buffer.data in stored for n in nodes)
    return not changing and all(_is_arithmetic(n) for n in nodes if isinstance(n, tir.Call))


def _is_arithmetic(call: tir.Call) -> bool:
    row = definition(call.op)
    return row is not None and (row.lazy or row.numpy is not None)


# ---------------------------------------------------------------------------------------------- by their bounds


def _have_bounds_apart(
    loop: st.For, around: Domains, one: tuple[Access, Indices], other: tuple[Access, Indices]
) -> bool:
    """Whether some index of a later iteration is always above, or always below, that of an earlier one."""
    return all(_is_apart_later(loop, around, *pair) for pair in ((one, other), (other, one)))


def _is_apart_later(
    loop: st.For, around: Domains, earlier: tuple[Access, Indices], later: tuple[Access, Indices]
) -> bool:
    var = loop.loop_var
    step = tir.Var("step", var.dtype)
    rest = ops.subtract(loop.extent, 1)
    domains: dict[tir.Var, Range] = {**around, var: Range(loop.min, rest), step: Range(tir.literal(1, var.dtype), rest)}
    domains |= earlier[0].loops
    moved: dict[Any, PrimExpr] = {var: ops.add(var, step)}
    for own, domain in later[0].loops.items():
        copy = tir.Var(own.name, own.dtype)
        domains[copy] = Range(substitute(domain.min, moved), substitute(domain.extent, moved))
        moved[own] = copy
    analyzer = Analyzer.over(domains)
    for condition in (*earlier[0].conditions, *(substitute(c, moved) for c in later[0].conditions)):
        analyzer.assume(condition)
    for before, after in zip(earlier[1], later[1]):
        there = substitute(after, moved)
        if analyzer.prove(ops.less(before, there)) or analyzer.prove(ops.less(there, before)):
            return True
    return False


# ----------------------------------------------------------------------------------------- by the iteration told


def _tell_iteration(loop: st.For, around: Domains, one: tuple[Access, Indices], other: tuple[Access, Indices]) -> bool:
    """Whether the indices that both accesses share determine the iteration."""
    paired = _paired_loops(one, other)
    alike = [a for a, b in zip(one[1], other[1]) if structural_equal(a, substitute(b, paired))]
    domains = {**around, loop.loop_var: Range(loop.min, loop.extent), **one[0].loops}
    return _is_told(loop.loop_var, alike, domains)


def _paired_loops(one: tuple[Access, Indices], other: tuple[Access, Indices]) -> dict[Any, Any]:
    """The loops of the second access that correspond to those of the first, in order of use."""
    first, second = (
        [n for n in dict.fromkeys(post_order(list(indices))) if n in access.loops] for access, indices in (one, other)
    )
    found: dict[Any, Any] = {}
    for mine, its in zip(first, second):
        if structural_equal(one[0].loops[mine], substitute(other[0].loops[its], found)):
            found[its] = mine
    return found


def _is_told(var: tir.Var, indices: Indices, domains: Domains) -> bool:
    """Whether the values of the indices determine that of the variable."""
    telling = [index for index in indices if _mentions(index, var)]
    if any(_has_all_of(var, chosen, domains) for chosen in (telling, *([index] for index in telling))):
        return True
    for divided in _divided(telling, var):
        whole = tir.Var("whole", var.dtype)
        parts = [_with(index, divided, whole) for index in telling]
        divisors = [n.b for n in post_order(parts) if isinstance(n, tir.FloorDiv | tir.FloorMod)]
        extent: PrimExpr = tir.SizeVar("times", var.dtype)
        for divisor in divisors:  # quotients and remainders of a number of any size
            extent = ops.multiply(extent, divisor)
        unbounded = {**domains, whole: Range(tir.literal(0, var.dtype), extent)}
        if _has_all_of(whole, parts, unbounded) and _has_all_of(var, [divided], domains):
            return True
    return False


def _has_all_of(var: tir.Var, indices: Indices, domains: Domains) -> bool:
    """Whether the indices are sums of pieces of loops, including all pieces of this one."""
    mentioned = set(post_order(list(indices)))
    used = {v: domain for v, domain in domains.items() if v in mentioned}
    if var not in used:
        return False
    found = detect_iter_map(indices, used)
    if found.errors:
        return False
    total: PrimExpr = tir.literal(1, var.dtype)
    for node in post_order(found.indices):
        if isinstance(node, IterSplitExpr) and node.source.source is var:
            total = ops.multiply(total, node.extent)
    return Analyzer().can_prove_equal(total, used[var].extent)


def _divided(indices: Indices, var: tir.Var) -> list[PrimExpr]:
    """The sums with the variable that are divided, larger ones first."""
    divisions = [n for n in post_order(list(indices)) if isinstance(n, tir.FloorDiv | tir.FloorMod)]
    return [n.a for n in reversed(divisions) if n.a is not var and _mentions(n.a, var)]


def _mentions(expr: PrimExpr, var: tir.Var) -> bool:
    return any(n is var for n in post_order(expr))


def _with(index: PrimExpr, part: PrimExpr, whole: tir.Var) -> PrimExpr:
    def rule(node: Node) -> Node | None:
        return whole if isinstance(node, PrimExpr) and structural_equal(node, part) else None

    found: PrimExpr = rewrite(index, rule)
    return found


# ------------------------------------------------------------------------------------------ at all iterations


def _differ_at_all_points(loop: st.For, around: Domains, store: Access, other: Access) -> bool:
    """Whether enumerating all iterations shows it, if they are few and their indices known."""
    outside = needed_loops(around, [(a.indices, a.conditions, tuple(a.loops.values())) for a in (store, other)])
    try:
        sides = [_elements(loop, outside, access) for access in (store, other)]
    except Unknown:
        return False
    rows = np.concatenate([elements for elements, _ in sides])
    iteration = np.concatenate([iterations for _, iterations in sides])
    is_first = np.arange(len(rows)) < len(sides[0][0])
    if not len(rows):
        return True
    order = np.lexsort(rows.T)
    rows, iteration, is_first = rows[order], iteration[order], is_first[order]
    begins = np.flatnonzero(np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)])
    by_both = np.logical_or.reduceat(is_first, begins) & np.logical_or.reduceat(~is_first, begins)
    by_one_iteration = np.minimum.reduceat(iteration, begins) == np.maximum.reduceat(iteration, begins)
    return bool((by_one_iteration | ~by_both).all())


def _elements(loop: st.For, outside: Domains, access: Access) -> tuple[Any, Any]:
    """The accessed elements, one per row, and the iterations that access them."""
    points = Points({})
    inside = needed_loops(access.loops, (access.indices, access.conditions))
    for var, domain in {**outside, loop.loop_var: Range(loop.min, loop.extent), **inside}.items():
        points.loop(var, domain.min, domain.extent)
    for condition in access.conditions:
        points.keep(points.value(condition))
    if not points.complete:
        raise Unknown
    values = [points.value(index) for index in (*outside, *access.indices, loop.loop_var)]
    columns = [np.broadcast_to(value, points.count) for value in (0, *values)]  # a scalar is one element: it has a row
    return np.stack(columns[:-1], axis=1), columns[-1]
