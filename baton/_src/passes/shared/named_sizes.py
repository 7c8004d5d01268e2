"""Sizes that a kernel computes from its integers, as variables of their own.

    def kernel(A: (n * 4 + 1, 8), B: (n * 4 + 1, 8), n)        ->        def kernel(A: (m, 8), B: (m, 8))

A kernel made for one place of a program says how its sizes follow from the program's inputs. It does not need to know:
kernels that differ in nothing else are one kernel then, and each is shorter. What it might use stays:

- how sizes depend on one another: two names never stand for expressions of a common variable (`apart`);
- that a size is a whole number of vectors, which spares it the remainders of loops: the name is the quotient's;
- bounds: an expression whose values are limited is not named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.answers import NEG_INF, POS_INF
from baton._src.tir.expr import BinaryOp, IntImm, Var
from baton._src.tir.operators import floordiv, multiply
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import INT64

LANES = 16
"""The elements of the widest vectors (of float32). A size is known to be a multiple of them, or nothing: kernels for
each divisor would be many, and smaller ones save no code.
"""


@dataclass(frozen=True)
class NamedSizes:
    """A kernel in sizes of its own, and the integers to pass to it.

    `kept`: which of the integers passed before; `added`: further ones, in terms of the kernel's former parameters.
    """

    function: PrimFunc
    kept: tuple[int, ...]
    added: tuple[PrimExpr, ...]


def integers(function: PrimFunc) -> list[Var]:
    """The parameters that are no tensors, in order."""
    return [p for p in function.params if p not in function.buffer_map]


def with_named_sizes(function: PrimFunc) -> NamedSizes | None:
    """The kernel with names for what it computes from its integers; None if there is nothing to name."""
    given = integers(function)
    parts = (function.body, tuple(function.buffer_map.values()))
    sizes = _Sizes(parts, {v for v in given if v.dtype == INT64})
    named = [(chosen, *name) for chosen in sizes.apart() if (name := _named(chosen))]
    if not named:
        return None
    replaced: dict[Any, Any] = {}
    gone: set[Var] = set()
    for chosen, var, divisor in named:
        gone |= sizes.variables[chosen]
        new = multiply(var, divisor) if divisor > 1 else var
        replaced |= dict.fromkeys(sizes.occurrences(chosen), new)
    body, buffers = substitute(parts, replaced)
    shown = {dim for buffer in buffers for dim in buffer.shape}
    added = {v: Analyzer().simplify(floordiv(chosen, d)) for chosen, v, d in named if v not in shown}
    params = [*(p for p in function.params if p not in gone), *added]
    changed = function.with_fields(params=tuple(params), body=body, buffer_map=dict(zip(function.buffer_map, buffers)))
    kept = tuple(i for i, v in enumerate(given) if v not in gone)
    return NamedSizes(changed, kept, tuple(added.values()))


def _named(size: PrimExpr) -> tuple[Var, int] | None:
    """A variable, and what it has to be multiplied by to give `size`; None if it would say less than the expression."""
    if isinstance(size, Var):
        return None
    analyzer = Analyzer()
    bounds, remainder = analyzer.const_int_bound(size), analyzer.modular_set(size)
    if bounds.min_value != NEG_INF or bounds.max_value != POS_INF:
        return None
    whole = remainder.base == 0 and remainder.coeff % LANES == 0
    return Var("size", INT64), LANES if whole else 1


class _Sizes:
    """The expressions of `given` variables and numbers in a kernel; equal ones are told by a number."""

    def __init__(self, parts: Any, given: set[Var]) -> None:
        self.variables: dict[PrimExpr, frozenset[Var]] = {}
        self._numbers: dict[PrimExpr, int] = {}
        self._equal: dict[int, list[PrimExpr]] = {}
        self._weight: dict[PrimExpr, int] = {}
        self._tops: dict[int, PrimExpr] = {}
        forms: dict[tuple[Any, ...], int] = {}
        for node in post_order(parts):
            form = self._form(node, given)
            if form is not None:
                self._numbers[node] = number = forms.setdefault(form, len(forms))
                self._equal.setdefault(number, []).append(node)
            else:
                for top in children(node):
                    if top in self._numbers and self.variables[top]:
                        self._tops.setdefault(self._numbers[top], top)

    def apart(self) -> list[PrimExpr]:
        """Expressions that have no variable in common, of which all sizes of the kernel are made; as large as they can
        be.
        """
        chosen: dict[int, PrimExpr] = {}
        users: Counter[Var] = Counter()
        largest: list[tuple[int, int, int]] = []
        order = count()

        def choose(exprs: Iterable[PrimExpr]) -> None:
            for expr in exprs:
                number = self._numbers[expr]
                if self.variables[expr] and number not in chosen:
                    chosen[number] = expr
                    users.update(self.variables[expr])
                    heappush(largest, (-self._weight[expr], next(order), number))

        choose(self._tops.values())
        while largest:
            # Whoever shares no variable now never will: what others are taken apart into has no other variables.
            *_, number = heappop(largest)
            expr = chosen[number]
            if isinstance(expr, BinaryOp) and any(users[v] > 1 for v in self.variables[expr]):
                del chosen[number]
                users.subtract(self.variables[expr])
                choose((expr.a, expr.b))
        return list(chosen.values())

    def occurrences(self, chosen: PrimExpr) -> list[PrimExpr]:
        """All nodes that are equal to the one chosen."""
        return self._equal[self._numbers[chosen]]

    def _form(self, node: Node, given: set[Var]) -> tuple[Any, ...] | None:
        """What equal expressions have in common; None if this is no expression of numbers and given variables."""
        if isinstance(node, IntImm) and node.dtype == INT64:
            self.variables[node], self._weight[node] = frozenset(), 1
            return IntImm, node.value
        if isinstance(node, Var) and node in given:
            self.variables[node], self._weight[node] = frozenset((node,)), 1
            return Var, id(node)
        if not isinstance(node, BinaryOp) or node.a not in self._numbers or node.b not in self._numbers:
            return None
        self.variables[node] = self.variables[node.a] | self.variables[node.b]
        self._weight[node] = self._weight[node.a] + self._weight[node.b] + 1
        return type(node), self._numbers[node.a], self._numbers[node.b]
