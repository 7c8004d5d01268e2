"""Whether a loop to be vectorised carries dependences between iterations.

    for i in vectorized(63): B[i + 1] = B[i] + A[i]        iteration i reads what iteration i - 1 wrote

A vector runs a statement for all its lanes before the next statement: access `a` of lane i and a later access `b` of a
lane j < i are reordered. That matters if both access one element and one of them writes. Recognised are elements at a
known distance: indices that are linear in the loop variable and otherwise equal up to a constant.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.canonical import canonical

_TRIED = 64
"""Iterations examined when two indices have different strides."""


@dataclass(frozen=True)
class _Access:
    """The element `scale * i + offset` relative to the common part of a group of accesses."""

    scale: int
    offset: int
    writes: bool


@dataclass
class _Places:
    """The first and last position of an access in the order of the loop's body."""

    first: int
    last: int = field(default=0)


def lanes_need_each_other(loop: st.For, lanes: int) -> bool:
    """Whether iterations within one vector of the loop certainly depend on each other (flat indices)."""
    nodes = post_order(loop.body)
    stored = {n.buffer.data for n in nodes if isinstance(n, st.BufferStore)}
    own = {n.buffer_var for n in nodes if isinstance(n, st.Allocate)}
    reached = [n for n in nodes if isinstance(n, (tir.BufferLoad, st.BufferStore)) and n.buffer.data in stored - own]
    indices: dict[Any, set[PrimExpr]] = {}
    for node in reached:
        indices.setdefault(node.buffer.data, set()).add(node.indices[0])
    if all(len(found) == 1 and loop.loop_var in post_order(*found) for found in indices.values()):
        return False
    repeats = any(isinstance(n, (st.For, st.While)) for n in nodes)
    groups = _grouped(loop, reached)
    return any(_any_swapped(loop, found, lanes, repeats) for found in groups.values())


def _grouped(loop: st.For, reached: list[Any]) -> dict[Any, dict[_Access, _Places]]:
    """Accesses by buffer and by the part of the index that is neither constant nor the loop variable."""
    analyzer = Analyzer()
    number = analyzer.atom(loop.loop_var)
    groups: dict[Any, dict[_Access, _Places]] = {}
    for place, node in enumerate(reached):
        parts = p.split_by_atom(canonical(analyzer.context, node.indices[0]), number)
        scale = None if parts is None else p.as_constant(parts[0])
        if parts is None or scale is None:
            continue
        offset = parts[1].get((), 0)
        rest = p.shift(parts[1], -offset)
        if rest and loop.loop_var in post_order(analyzer.context.atoms.emit(rest, node.indices[0].dtype)):
            continue
        group = groups.setdefault((node.buffer.data, node.buffer.dtype, p.key(rest)), {})
        group.setdefault(_Access(scale, offset, isinstance(node, st.BufferStore)), _Places(place)).last = place
    return groups


def _any_swapped(loop: st.For, found: dict[_Access, _Places], lanes: int, repeats: bool) -> bool:
    """Whether two accesses of one element, one of them writing, are reordered; `repeats`: in any order."""
    for one, its in found.items():
        for other, others in found.items():
            later = repeats or its.first < others.last
            if (one.writes or other.writes) and one != other and later and _swap(loop, one, other, lanes):
                return True
    return False


def _swap(loop: st.For, before: _Access, after: _Access, lanes: int) -> bool:
    """Whether `before` of some lane accesses the element of `after` of an earlier lane."""
    extent = loop.extent.value if isinstance(loop.extent, tir.IntImm) else _TRIED
    if before.scale == after.scale == 0:  # one element of all lanes: what is stored first is the same for each
        return before.offset == after.offset and not before.writes and extent > 1
    if before.scale == after.scale:
        distance, rest = divmod(after.offset - before.offset, before.scale)
        return rest == 0 and 0 < distance < min(lanes, extent)
    if not isinstance(loop.min, tir.IntImm):
        return False
    begin = loop.min.value
    return any(
        before.scale * (begin + i) + before.offset == after.scale * (begin + j) + after.offset
        for i in range(min(extent, _TRIED))
        for j in range(i // lanes * lanes, i)
    )
