"""Sets of integers as intervals with symbolic ends: what an index can be while some variables run over ranges.

eval_set(i * 8 + j, {j: Range(0, 8)})      # [i*8, i*8 + 7]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.canonical import canonical
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.arith.proofs import is_nonnegative
from baton._src.tir.expr import Var
from baton._src.values.dtype import DataType

_MAX_STEPS = 64


@dataclass(frozen=True, slots=True)
class IntSet:
    """The integers from `min` to `max`, both inclusive; None where there is no known end."""

    min: PrimExpr | None
    max: PrimExpr | None

    def extent(self) -> PrimExpr | None:
        """How many integers it has."""
        if self.min is None or self.max is None:
            return None
        found: PrimExpr = Analyzer().simplify(self.max - self.min + 1)
        return found

    def union(self, other: IntSet) -> IntSet:
        """An interval that holds both; an end that cannot be decided becomes unknown."""
        analyzer = Analyzer()
        return IntSet(_end(analyzer, self.min, other.min, True), _end(analyzer, self.max, other.max, False))


def _end(analyzer: Analyzer, a: PrimExpr | None, b: PrimExpr | None, least: bool) -> PrimExpr | None:
    if a is None or b is None:
        return None
    gap = b - a
    if analyzer.is_nonnegative(gap):
        return a if least else b
    return (b if least else a) if analyzer.is_nonnegative(a - b) else None


def eval_set(expr: PrimExpr, domains: Mapping[Var, Range], analyzer: Analyzer | None = None) -> IntSet:
    """The values of `expr` while each variable of `domains` runs over its range (taken not to be empty)."""
    knows = analyzer or Analyzer()
    canonical(knows.context, expr)  # names the atoms in reading order, which is the order they are written in
    for var, domain in domains.items():
        knows.bind(var, domain)
    ctx = knows.context
    form = canonical(ctx, expr)
    return IntSet(_extreme(ctx, form, domains, -1, expr.dtype), _extreme(ctx, form, domains, 1, expr.dtype))


def _extreme(
    ctx: Context, form: Poly, domains: Mapping[Var, Range], direction: int, dtype: DataType
) -> PrimExpr | None:
    """The least (direction -1) or greatest (1) value, without the variables of the domains."""
    for _ in range(_MAX_STEPS):
        index = _dependent(ctx, form, domains)
        if index is None:
            return ctx.atoms.emit(form, dtype)
        split = p.split_by_atom(form, index)
        if split is None:
            return None
        coefficient, rest = split
        sign = 1 if is_nonnegative(ctx, coefficient) else -1 if is_nonnegative(ctx, p.scale(coefficient, -1)) else 0
        if not sign:
            return None
        edge = _edge(ctx, index, sign * direction, domains)
        if edge is None:
            return None
        form = p.add(p.multiply(coefficient, edge), rest)
    return None


def _dependent(ctx: Context, form: Poly, domains: Mapping[Var, Range]) -> int | None:
    """The latest atom that depends on a variable of the domains."""
    for index in reversed(p.atoms_of(form)):
        if _depends(ctx, index, domains):
            return index
    return None


def _depends(ctx: Context, index: int, domains: Mapping[Var, Range]) -> bool:
    stack, seen = [index], set()
    while stack:
        at = stack.pop()
        if at in seen:
            continue
        seen.add(at)
        atom = ctx.atoms[at]
        if atom.kind == "var":
            if atom.expr in domains:
                return True
        elif atom.kind == "opaque":
            return True  # a value read from memory may depend on anything
        for arg in atom.args:
            stack.extend(p.atoms_of(arg))
    return False


def _edge(ctx: Context, index: int, direction: int, domains: Mapping[Var, Range]) -> Poly | None:
    """A bound of one atom: of a variable by its domain, of a quotient by its numerator's, else a constant one."""
    atom = ctx.atoms[index]
    known = (ctx.facts.upper if direction > 0 else ctx.facts.lower).get(index, ())
    if known:
        return known[0]
    low, high = bound(ctx, p.atom(index))
    edge = high if direction > 0 else low
    if abs(edge) != float("inf"):
        return p.constant(int(edge))
    if atom.kind in ("min", "max") and (atom.kind == "min") == (direction > 0):
        free = [a for a in atom.args if _dependent(ctx, a, domains) is None]
        return free[0] if free else None
    return None
