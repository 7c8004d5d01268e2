"""Analyse the reduction of a block: the accumulated value, the new term, and how they are combined.

    C[i] = C[i] + A[i, k]                                               + of A[i, k]
    v0 = Select(V[i] >= x, I[i], k); v1 = Select(V[i] >= x, V[i], x)    the larger of V[i] and x = A[i, k], and its k
    I[i] = v0; V[i] = v1

Several values are reduced separately, or selected together by comparing one of them (argmin, argmax); ties are broken
by an index or by order. Where the values compared are equal, either may be selected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.same_value import same_value, same_values
from baton._src.tir.dtype_limits import highest, lowest, max_value, min_value
from baton._src.tir.schedule.tree import refuse

Combine = Callable[[Sequence[PrimExpr], Sequence[PrimExpr]], list[PrimExpr]]
_START: dict[type, tuple[Callable[[Any], PrimExpr], ...]] = {
    tir.Add: (lambda dtype: ops.const(0, dtype),),
    tir.Mul: (lambda dtype: ops.const(1, dtype),),
    tir.Max: (lowest,),
    tir.Min: (highest,),
    tir.And: (lambda dtype: ops.const(1, dtype),),
    tir.Or: (lambda dtype: ops.const(0, dtype),),
}
_LARGEST, _SMALLEST = (lowest, min_value), (highest, max_value)
_FIRST_KEPT: dict[type, tuple[Callable[[Any], PrimExpr], ...]] = {
    tir.GE: _LARGEST, tir.GT: _LARGEST, tir.LE: _SMALLEST, tir.LT: _SMALLEST,
}  # fmt: skip
"""Comparisons of the accumulated value with the new term that keep the former, and the initial values of such
selections.
"""


@dataclass(frozen=True)
class Reducer:
    """A block's reduction. `stores`: the place of each accumulated value, all at the same indices."""

    stores: tuple[st.BufferStore, ...]
    sources: tuple[PrimExpr, ...]
    starts: tuple[PrimExpr, ...]
    combine: Combine

    @property
    def indices(self) -> tuple[PrimExpr, ...]:
        """The indices of the accumulated values."""
        return self.stores[0].indices


def reducer_of(block: st.Block) -> Reducer:
    """The reduction of a block; refuses blocks that do not reduce, or whose combination is not recognised."""
    name = block.name_hint
    stores, values = _updates(block.body)
    begun = st.stmt_list(block.init) if block.init is not None else []
    starts = {s.buffer: s for s in begun if isinstance(s, st.BufferStore)}
    if not stores:
        raise refuse(f"block {name} is not a reduction: it does not store what it updates")
    if {s.buffer for s in stores} != set(starts):
        raise refuse(f"block {name} does not initialise what it reduces")
    at = stores[0].indices
    if not all(same_values(at, s.indices) for s in (*stores, *starts.values())):
        raise refuse(f"block {name} keeps its values at different indices")
    first = tuple(starts[s.buffer].value for s in stores)
    own = [tir.BufferLoad(s.buffer, at) for s in stores]
    found = _each_by_itself(name, stores, values, own, first) or _chosen_together(name, stores, values, own, first)
    if found is None:
        raise refuse(
            f"block {name} does not reduce by +, *, min, max, and, or, or a choice of the smaller or larger value"
        )
    reduced = {s.buffer for s in stores}
    if any(isinstance(n, tir.BufferLoad) and n.buffer in reduced for n in post_order(found.sources)):
        raise refuse(f"what block {name} takes in depends on what it has reduced before")
    return found


def _updates(body: st.Stmt) -> tuple[tuple[st.BufferStore, ...], list[PrimExpr]]:
    """The stores of a body and the values that they store, which may be named first; none if it does anything else."""
    named: dict[Any, PrimExpr] = {}
    while isinstance(body, st.LetStmt):
        named[body.var] = substitute(body.value, named)
        body = body.body
    stores = tuple(s for s in st.stmt_list(body) if isinstance(s, st.BufferStore))
    at_once = len(stores) == 1 or all(s.value in named for s in stores)
    if len(stores) != len(st.stmt_list(body)) or not at_once:
        return (), []
    return stores, [named.get(s.value, s.value) for s in stores]


def _each_by_itself(
    name: str,
    stores: tuple[st.BufferStore, ...],
    values: list[PrimExpr],
    own: list[tir.BufferLoad],
    starts: tuple[PrimExpr, ...],
) -> Reducer | None:
    if not all(type(value) in _START for value in values):
        return None
    sources = []
    for value, kept, start in zip(values, own, starts):
        assert isinstance(value, tir.BinaryOp | tir.LogicalOp)
        others = [b for a, b in ((value.a, value.b), (value.b, value.a)) if same_value(a, kept)]
        if not others:
            raise refuse(f"block {name} does not update its own element")
        # Maxima and minima may begin with the same number as often as they like, whichever it is.
        if not (isinstance(value, (tir.Max, tir.Min)) and isinstance(start, (tir.IntImm, tir.FloatImm))):
            _require_neutral(name, start, [make(value.dtype) for make in _START[type(value)]])
        sources.append(others[0])
    kinds: list[Any] = [type(value) for value in values]
    return Reducer(stores, tuple(sources), starts, lambda a, b: [k(x, y) for k, x, y in zip(kinds, a, b)])


def _chosen_together(
    name: str,
    stores: tuple[st.BufferStore, ...],
    values: list[PrimExpr],
    own: list[tir.BufferLoad],
    starts: tuple[PrimExpr, ...],
) -> Reducer | None:
    chosen = [v for v in values if isinstance(v, tir.Select)]
    if len(chosen) != len(values) or not all(same_value(v.true_value, kept) for v, kept in zip(chosen, own)):
        return None
    sources = [v.false_value for v in chosen]
    conditions = [v.condition for v in chosen]
    of_all = next((c for c in conditions if isinstance(c, tir.Or)), conditions[0])
    place, keeps = _compared(of_all, own, sources)
    compared, keeps_value = _compared(conditions[place], own, sources)
    if keeps is None or keeps_value is None or compared != place or _FIRST_KEPT[keeps] is not _FIRST_KEPT[keeps_value]:
        return None
    if not all(same_value(c, of_all) for n, c in enumerate(conditions) if n != place):
        return None
    _require_neutral(name, starts[place], [make(own[place].dtype) for make in _FIRST_KEPT[keeps]])

    names = [[tir.Var(f"{side}{i}", load.dtype) for i, load in enumerate(own)] for side in "xy"]
    keep = [_in_terms_of(c, [*zip(own, names[0]), *zip(sources, names[1])]) for c in conditions]

    def combine(kept: Sequence[PrimExpr], given: Sequence[PrimExpr]) -> list[PrimExpr]:
        bound: dict[Any, Any] = dict(zip((*names[0], *names[1]), (*kept, *given)))
        return [tir.Select(substitute(c, bound), a, b) for c, a, b in zip(keep, kept, given)]

    return Reducer(stores, tuple(sources), starts, combine)


def _in_terms_of(condition: PrimExpr, terms: list[tuple[PrimExpr, tir.Var]]) -> PrimExpr:
    """The condition with names for terms, larger ones first: an index that is taken in is part of the value's."""
    for term, name in sorted(terms, key=lambda pair: -len(post_order(pair[0]))):

        def rule(node: Node, term: PrimExpr = term, name: tir.Var = name) -> Node | None:
            return name if isinstance(node, PrimExpr) and same_value(node, term) else None

        condition = rewrite(condition, rule)
    return condition


def _compared(
    condition: PrimExpr, own: list[tir.BufferLoad], sources: list[PrimExpr]
) -> tuple[int, type[PrimExpr] | None]:
    """Which value is compared, and how what is there is kept: `a >= b`, or `a > b or (a == b and i < j)`."""
    strict: Any = condition
    if isinstance(condition, tir.Or) and isinstance(condition.b, tir.And):
        strict, equal, tie = condition.a, condition.b.a, condition.b.b
        fits = isinstance(strict, (tir.GT, tir.LT)) and isinstance(equal, tir.EQ)
        by_index = isinstance(tie, (tir.LT, tir.LE, tir.GT, tir.GE)) and _sides(tie, own, sources) is not None
        if not fits or not by_index or _sides(strict, own, sources) != _sides(equal, own, sources):
            return 0, None
    place = _sides(strict, own, sources) if type(strict) in _FIRST_KEPT else None
    return (0, None) if place is None else (place, type(strict))


def _sides(comparison: Any, own: list[tir.BufferLoad], sources: list[PrimExpr]) -> int | None:
    """Of which value a comparison has on its left what is there, on its right what is taken in."""
    for place, (kept, source) in enumerate(zip(own, sources)):
        if same_value(comparison.a, kept) and same_value(comparison.b, source):
            return place
    return None


def _require_neutral(name: str, start: PrimExpr, neutral: list[PrimExpr]) -> None:
    if not any(_same_number(start, one) for one in neutral):
        raise refuse(f"block {name} does not start at the neutral element of its reduction")


def _same_number(a: PrimExpr, b: PrimExpr) -> bool:
    if isinstance(a, (tir.IntImm, tir.FloatImm)) and isinstance(b, (tir.IntImm, tir.FloatImm)):
        return a.value == b.value or (math.isinf(a.value) and a.value == b.value)
    return same_value(a, b)


__all__ = ["Reducer", "reducer_of"]
