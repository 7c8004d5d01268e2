"""Systems of linear inequalities over the integers, solved by Fourier-Motzkin elimination.

solve_linear_inequalities([x >= 0, x <= y, y < 10], [x, y])      x in [0, 10), y in [0, 10), and the relation x <= y
    ..., deskew_range=True                                       with new variables, whose ranges start at 0

Variables are eliminated in their order: each lower bound of one combined with each upper bound constrains the variables
after it. Going back from the last one, each gets the smallest range that its bounds imply. Nothing is lost: constraints
that the ranges do not imply are among the relations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.arith.systems.linear import at_least_zero, detect_linear_equation
from baton._src.tir.arith.systems.linear_systems import IntConstraints, IntConstraintsTransform, constraints
from baton._src.tir.expr import IntImm, Var


@dataclass(frozen=True, eq=False)
class IntGroupBounds:
    """Bounds of `coef * variable`, a positive multiple: at least `lower`, at most `upper`, each of `equal`."""

    coef: PrimExpr
    lower: Sequence[PrimExpr]
    equal: Sequence[PrimExpr]
    upper: Sequence[PrimExpr]

    @staticmethod
    def from_range(rng: Range) -> IntGroupBounds:
        """The bounds of a variable in a range."""
        one = IntImm(rng.min.dtype, 1)
        if ops.is_const(rng.extent, 1):
            return IntGroupBounds(one, (), (rng.min,), ())
        last = Analyzer().simplify(ops.subtract(ops.add(rng.min, rng.extent), one))
        return IntGroupBounds(one, (rng.min,), (), (last,))

    def find_best_range(self, ranges_map: Mapping[Var, Range] | None = None) -> Range | None:
        """The smallest range that a lower and an upper bound give, its extent a number where `ranges_map` tells;
        None if there is no such pair."""
        analyzer = Analyzer.over(ranges_map or {})
        best: Range | None = None
        for low in (*self.lower, *self.equal):
            for high in (*self.upper, *self.equal):
                found = self._range(low, high, ranges_map or {}, analyzer)
                if found is not None and (best is None or analyzer.prove(found.extent < best.extent)):
                    best = found
        return best

    def _range(self, low: PrimExpr, high: PrimExpr, ranges: Mapping[Var, Range], analyzer: Analyzer) -> Range | None:
        size = ops.add(ops.floordiv(ops.subtract(high, low), self.coef), 1)
        most = eval_set(analyzer.simplify(size), ranges).max
        if most is None:
            return None
        return Range(analyzer.simplify(ops.ceildiv(low, self.coef)), analyzer.simplify(most))

    def conditions(self, var: Var) -> list[PrimExpr]:
        """What the bounds say, as relations."""
        scaled = ops.multiply(var, self.coef)
        found = [ops.equal(scaled, e) for e in self.equal]
        found += [ops.greater_equal(scaled, e) for e in self.lower]
        return found + [ops.less_equal(scaled, e) for e in self.upper]


def solve_linear_inequalities(
    equations: Any,
    variables: Sequence[Var] | None = None,
    ranges: Mapping[Var, Range] | None = None,
    deskew_range: bool = False,
) -> IntConstraints | IntConstraintsTransform:
    """Ranges of the variables (default: all) for which relations hold that are linear with numbers as coefficients.

    A range may start at an expression of the variables after its own. Constraints that the ranges do not imply are
    among the relations of the result, which are `False` if the system has no solution. With `deskew_range` the result
    is in new variables, whose ranges start at 0.
    """
    given = constraints(equations, variables, ranges)
    bounds, others = _eliminated(given)
    return _deskewed(given, bounds, others) if deskew_range else _in_ranges(given, bounds, others)


# -------------------------------------------------------------------------------------------- elimination

Row = tuple[tuple[int, ...], PrimExpr]
"""Coefficients of the variables and what is added: their sum is at least 0."""


def _eliminated(given: IntConstraints) -> tuple[dict[Var, IntGroupBounds], list[PrimExpr]]:
    """The bounds of each variable by those after it, and relations of none."""
    rows, others = _rows(given)
    bounds: dict[Var, IntGroupBounds] = {}
    for place, var in enumerate(given.variables):
        lower = [row for row in rows if row[0][place] > 0]
        upper = [row for row in rows if row[0][place] < 0]
        rows = [row for row in rows if not row[0][place]]
        scale = math.lcm(*(abs(row[0][place]) for row in (*lower, *upper)))
        least = [_other_side(given, row, place, -scale) for row in lower]
        most = [_other_side(given, row, place, scale) for row in upper]
        bounds[var] = _grouped(IntImm(var.dtype, scale), least, most)
        for low in lower:
            for high in upper:
                _put(rows, _combined(low, high, place))
    return bounds, others + [ops.greater_equal(base, 0) for _, base in rows]


def _rows(given: IntConstraints) -> tuple[list[Row], list[PrimExpr]]:
    """The linear relations, those of ranges among them, and the others."""
    rows: list[Row] = []
    others: list[PrimExpr] = []
    limits: list[PrimExpr] = []
    for var, domain in given.ranges.items():
        limits += [ops.greater_equal(var, domain.min), ops.less(var, ops.add(domain.min, domain.extent))]
    for relation in (*given.relations, *limits):
        read = [_linear(difference, given.variables) for difference in at_least_zero(relation) or ()]
        linear = [row for row in read if row is not None]
        if not read or len(linear) < len(read):
            others.append(relation)
        for row in linear if len(linear) == len(read) else ():
            _put(rows, row)
    return rows, others


def _linear(difference: PrimExpr, variables: Sequence[Var]) -> Row | None:
    parts = detect_linear_equation(difference, variables)
    numbers = tuple(part.value for part in parts[:-1] if isinstance(part, IntImm))
    return (numbers, parts[-1]) if parts and len(numbers) == len(variables) else None


def _put(rows: list[Row], row: Row) -> None:
    """Add a row, divided by what its coefficients have in common (the rest rounds down), unless it is known."""
    numbers, base = row
    common = math.gcd(*numbers)
    analyzer = Analyzer()
    if common > 1:
        numbers, base = tuple(n // common for n in numbers), ops.floordiv(base, common)
    base = analyzer.simplify(base)
    if not common and analyzer.prove(base >= 0):
        return
    if not any(numbers == other and structural_equal(base, known) for other, known in rows):
        rows.append((numbers, base))


def _combined(low: Row, high: Row, place: int) -> Row:
    """The constraint on other variables that a lower and an upper bound of one variable imply."""
    a, b = low[0][place], -high[0][place]
    common = math.gcd(a, b)
    by_low, by_high = b // common, a // common
    numbers = tuple(by_low * x + by_high * y for x, y in zip(low[0], high[0]))
    return numbers, ops.add(ops.multiply(low[1], by_low), ops.multiply(high[1], by_high))


def _other_side(given: IntConstraints, row: Row, place: int, scale: int) -> PrimExpr:
    """All of a row but one variable, times `scale` over that one's coefficient (without its sign)."""
    factor = scale // abs(row[0][place])
    total: PrimExpr = row[1]
    for number, (weight, var) in enumerate(zip(row[0], given.variables)):
        total = ops.add(total, ops.multiply(var, weight)) if number != place and weight else total
    found: PrimExpr = Analyzer().simplify(ops.multiply(total, factor))
    return found


def _grouped(coef: PrimExpr, lower: list[PrimExpr], upper: list[PrimExpr]) -> IntGroupBounds:
    equal = [e for e in lower if any(structural_equal(e, other) for other in upper)]

    def rest(bounds: list[PrimExpr]) -> tuple[PrimExpr, ...]:
        return tuple(e for e in bounds if not any(structural_equal(e, one) for one in equal))

    return IntGroupBounds(coef, rest(lower), tuple(equal), rest(upper))


# -------------------------------------------------------------------------------------------- results


def _in_ranges(given: IntConstraints, bounds: Mapping[Var, IntGroupBounds], others: list[PrimExpr]) -> IntConstraints:
    known = {var: domain for var, domain in given.ranges.items() if var not in bounds}
    found: dict[Var, Range] = {}
    for var in reversed(given.variables):
        best = bounds[var].find_best_range({**known, **found})
        if best is None:
            continue
        if _is_empty(best, {**known, **found}):
            return _nothing()
        found[var] = best
    said = [c for var in given.variables for c in bounds[var].conditions(var)]
    left = _open_relations((*said, *others), {**known, **found})
    return _nothing() if left is None else IntConstraints(given.variables, found, left)


def _deskewed(
    given: IntConstraints, bounds: Mapping[Var, IntGroupBounds], others: list[PrimExpr]
) -> IntConstraintsTransform:
    ranges: dict[Var, Range] = {var: domain for var, domain in given.ranges.items() if var not in bounds}
    forward: dict[Var, PrimExpr] = {}
    back: dict[Var, PrimExpr] = {}
    fresh: list[Var] = []
    for var in reversed(given.variables):
        best = _substituted(bounds[var], forward).find_best_range(ranges)
        if best is not None and _is_empty(best, ranges):
            return IntConstraintsTransform(given, _nothing(), {}, {})
        if best is not None and ops.is_const(best.extent, 1):
            forward[var] = best.min
            continue
        made = Var(var.name, var.dtype)
        fresh.append(made)
        if best is None:
            forward[var], back[made] = made, var
            continue
        forward[var] = Analyzer().simplify(ops.add(made, best.min))
        back[made] = Analyzer().simplify(ops.subtract(var, substitute(best.min, back)))
        ranges[made] = Range(IntImm(var.dtype, 0), best.extent)
    said = [c for var in given.variables for c in bounds[var].conditions(var)]
    left = _open_relations([substitute(c, forward) for c in (*said, *others)], ranges)
    if left is None:
        return IntConstraintsTransform(given, _nothing(), {}, {})
    own = {var: ranges[var] for var in fresh if var in ranges}
    return IntConstraintsTransform(given, IntConstraints(fresh[::-1], own, left), forward, back)


def _substituted(bounds: IntGroupBounds, values: Mapping[Var, PrimExpr]) -> IntGroupBounds:
    parts = (tuple(substitute(e, values) for e in one) for one in (bounds.lower, bounds.equal, bounds.upper))
    return IntGroupBounds(bounds.coef, *parts)


def _is_empty(found: Range, ranges: Mapping[Var, Range]) -> bool:
    return Analyzer.over(ranges).prove(found.extent <= 0)


def _nothing() -> IntConstraints:
    return IntConstraints([], {}, [tir.literal(False)])


def _open_relations(relations: Sequence[PrimExpr], ranges: Mapping[Var, Range]) -> list[PrimExpr] | None:
    """The relations that ranges do not imply; None if one never holds."""
    analyzer = Analyzer.over(ranges)
    left = [analyzer.simplify(relation) for relation in relations]
    if any(isinstance(one, IntImm) and not one.value for one in left):
        return None
    return [one for one in left if not isinstance(one, IntImm)]
