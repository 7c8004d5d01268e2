"""Sets of integers as intervals with symbolic ends: the values of an index while some variables run over ranges.

eval_set(i * 8 + j, {j: Range(0, 8)})      # [i*8, i*8 + 7]
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from baton._src.ir.expr import PrimExpr, Range
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith import division, extrema
from baton._src.tir.arith import polynomial as p
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.atoms import Atom
from baton._src.tir.arith.bounds import bound
from baton._src.tir.arith.canonical import canonical
from baton._src.tir.arith.facts import Context
from baton._src.tir.arith.polynomial import Poly
from baton._src.tir.arith.proofs import is_nonnegative
from baton._src.tir.expr import Broadcast, IntImm, Ramp, Var, literal
from baton._src.values.dtype import DataType

_MAX_STEPS = 64


POS_INF_VAR = Var("pos_inf", "handle")
NEG_INF_VAR = Var("neg_inf", "handle")
"""The variables that represent missing ends, as in TVM."""


@dataclass(frozen=True)
class IntSet:
    """The integers from `min` to `max`, both inclusive; None where there is no known end."""

    min: PrimExpr | None
    max: PrimExpr | None

    def __repr__(self) -> str:
        """TVM's text."""
        return f"IntervalSet[{self.min_value}, {self.max_value}]"

    @property
    def min_value(self) -> PrimExpr:
        """The least one, or `neg_inf`."""
        return NEG_INF_VAR if self.min is None else self.min

    @property
    def max_value(self) -> PrimExpr:
        """The greatest one, or `pos_inf`."""
        return POS_INF_VAR if self.max is None else self.max

    def is_nothing(self) -> bool:
        """Whether it is certainly empty."""
        return self.min is not None and self.max is not None and Analyzer().prove(self.min > self.max)

    def is_everything(self) -> bool:
        """Whether no end is known."""
        return self.min is None and self.max is None

    def is_single_point(self) -> bool:
        """Whether it certainly has one integer only."""
        return self.min is not None and self.max is not None and Analyzer().can_prove_equal(self.min, self.max)

    @staticmethod
    def single_point(point: object) -> IntSet:
        """One integer."""
        found = literal(point)
        return IntervalSet(found, found)

    @staticmethod
    def vector(vec: PrimExpr) -> IntSet:
        """The interval that contains the lanes of a vector."""
        if isinstance(vec, Ramp):
            last = vec.base + vec.stride * (vec.lanes - 1)
            ends = (last, vec.base) if Analyzer().prove(vec.stride < 0) else (vec.base, last)
            return IntervalSet(*ends)
        return IntSet.single_point(vec.value if isinstance(vec, Broadcast) else vec)

    def extent(self) -> PrimExpr | None:
        """The number of integers in the set."""
        if self.min is None or self.max is None:
            return None
        found: PrimExpr = Analyzer().simplify(self.max - self.min + 1)
        return found

    def union(self, other: IntSet) -> IntSet:
        """An interval that holds both; an end that cannot be decided becomes unknown."""
        analyzer = Analyzer()
        return IntSet(_end(analyzer, self.min, other.min, True), _end(analyzer, self.max, other.max, False))


class IntervalSet(IntSet):
    """A set by its ends, which may be numbers; `pos_inf()` and `neg_inf()` say that there is none."""

    def __init__(self, min_value: object, max_value: object) -> None:
        super().__init__(_given(min_value), _given(max_value))


def _given(end: object) -> PrimExpr | None:
    return None if end is None or end is POS_INF_VAR or end is NEG_INF_VAR else literal(end)


def pos_inf() -> Var:
    """The end that a set without a greatest integer shows."""
    return POS_INF_VAR


def neg_inf() -> Var:
    """The end that a set without a least integer shows."""
    return NEG_INF_VAR


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


def values_of(analyzer: Analyzer, expr: PrimExpr, domains: Mapping[Var, IntSet | Range]) -> IntSet:
    """The values of `expr` while variables take those of their sets, under what the analyzer knows, which stays."""
    ctx = analyzer.context
    outer, ctx.facts = ctx.facts, ctx.facts.copy()
    try:
        canonical(ctx, expr)  # names the atoms in reading order
        ranges = {var: _noted(analyzer, var, domain) for var, domain in domains.items()}
        ctx.forget()
        form = canonical(ctx, expr)
        low_end, high_end = (_extreme(ctx, form, ranges, side, expr.dtype) for side in (-1, 1))
    finally:
        ctx.facts = outer
        ctx.forget()
    return IntervalSet(low_end, high_end)


def _noted(analyzer: Analyzer, var: Var, domain: IntSet | Range) -> Range:
    """The range of a variable, of which the analyzer knows from here on; itself alone where an end is missing."""
    if isinstance(domain, IntSet):
        if domain.min is None or domain.max is None:
            _note_ends(analyzer, var, domain)
            return Range(var, literal(1, var.dtype))
        domain = Range(domain.min, analyzer.simplify(domain.max - domain.min + 1))
    analyzer.bind(var, domain)
    return domain


def _note_ends(analyzer: Analyzer, var: Var, domain: IntSet) -> None:
    """What is known of a variable with one end, or none."""
    ctx, atom = analyzer.context, analyzer.atom(var)
    if domain.min is not None:
        ctx.facts.lower[atom] = (canonical(ctx, domain.min),)
    if domain.max is not None:
        ctx.facts.upper[atom] = (canonical(ctx, domain.max),)
    low = domain.min.value if isinstance(domain.min, IntImm) else -math.inf
    high = domain.max.value if isinstance(domain.max, IntImm) else math.inf
    if (low, high) != (-math.inf, math.inf):
        ctx.facts.narrow(atom, low, high)


def _extreme(
    ctx: Context, form: Poly, domains: Mapping[Var, Range], direction: int, dtype: DataType
) -> PrimExpr | None:
    """The least (direction -1) or greatest (1) value, without the variables of the domains."""
    found = _extreme_form(ctx, form, domains, direction)
    return None if found is None else ctx.atoms.emit(found, dtype)


def _extreme_form(ctx: Context, form: Poly, domains: Mapping[Var, Range], direction: int) -> Poly | None:
    for _ in range(_MAX_STEPS):
        index = _dependent(ctx, form, domains)
        if index is None:
            return form
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
    """A bound of one atom: of a variable by its domain, of an operation by those of its operands, else a constant."""
    atom = ctx.atoms[index]
    known = (ctx.facts.upper if direction > 0 else ctx.facts.lower).get(index, ())
    if known:
        return known[0]
    found = _edge_of_operation(ctx, atom, direction, domains)
    if found is not None:
        return found
    low, high = bound(ctx, p.atom(index))
    edge = high if direction > 0 else low
    if abs(edge) != float("inf"):
        return p.constant(int(edge))
    if atom.kind in ("min", "max") and (atom.kind == "min") == (direction > 0):
        free = [a for a in atom.args if _dependent(ctx, a, domains) is None]
        return free[0] if free else None
    return None


def _edge_of_operation(ctx: Context, atom: Atom, direction: int, domains: Mapping[Var, Range]) -> Poly | None:
    """A bound of a quotient or extremum at the bounds of its operands; of a remainder, where all have one quotient."""
    if atom.kind not in ("div", "mod", "min", "max"):
        return None
    if atom.kind in ("min", "max"):
        ends = [_extreme_form(ctx, part, domains, direction) for part in atom.args]
        whole = [end for end in ends if end is not None]
        return extrema.extremum(ctx, atom.kind, whole, atom.dtype) if len(whole) == len(ends) else None
    divided, divisor = atom.args
    if (p.as_constant(divisor) or 0) < 1:
        return None
    end = _extreme_form(ctx, divided, domains, direction)
    quotient = None if end is None else division.floor_div(ctx, end, divisor, atom.dtype)
    if atom.kind == "div" or end is None or quotient is None:
        return quotient
    other = _extreme_form(ctx, divided, domains, -direction)
    if other is None or division.floor_div(ctx, other, divisor, atom.dtype) != quotient:
        return None
    return p.subtract(end, p.multiply(divisor, quotient))
