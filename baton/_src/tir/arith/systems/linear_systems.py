"""Systems of linear equations over the integers: all solutions, by as many new variables as are free.

solve_linear_equations([2 * x + 4 * y == z * 6], [x, y, z])       x, y, z as sums of n0 and n1, which may be any
solve_linear_equations([x + y == 20, x - y == 10], [x, y], ...)   x = 15, y = 5, no new variables

The matrix A of the equations A x = b is brought to diagonal form S = U A V by U and V that have integer inverses (the
Smith normal form, without order among the diagonal). Then S y = U b says what y is, or that it is free, and x = V y.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.arith.systems.linear import detect_linear_equation
from baton._src.tir.expr import IntImm, Var, literal

Matrix = list[list[int]]


@dataclass(frozen=True, eq=False)
class IntConstraints:
    """Variables in ranges (those that have one) for which all relations hold."""

    variables: Sequence[Var]
    ranges: Mapping[Var, Range]
    relations: Sequence[PrimExpr]


@dataclass(frozen=True, eq=False)
class IntConstraintsTransform:
    """Two descriptions of the same integers, and how the variables of each follow from those of the other."""

    src: IntConstraints
    dst: IntConstraints
    src_to_dst: Mapping[Var, PrimExpr]
    dst_to_src: Mapping[Var, PrimExpr]


def solve_linear_equations(
    equations: Any, variables: Sequence[Var] | None = None, ranges: Mapping[Var, Range] | None = None
) -> IntConstraintsTransform:
    """All solutions of the relations that are linear equations with numbers as coefficients; other relations are kept.

    `variables` are those to solve for (default: all). Further constraints on the new variables (from ranges of the
    given ones) are among the relations of `dst`: `False` if there is no solution.
    """
    given = constraints(equations, variables, ranges)
    rows, sides, others = _split(given)
    system = _Diagonal(rows, len(given.variables))
    analyzer = Analyzer()
    conditions: list[PrimExpr] = []
    values: list[PrimExpr] = []
    fresh: list[Var] = []
    right = [_sum(weights, sides) for weights in system.left]
    for place, var in enumerate(given.variables):
        factor = system.rows[place][place] if place < len(rows) else 0
        if factor:
            side = analyzer.simplify(right[place])
            values.append(ops.floordiv(side, factor))
            conditions.append(ops.equal(ops.floormod(side, abs(factor)), 0))
        else:
            fresh.append(Var(f"n{len(fresh)}", var.dtype))
            values.append(fresh[-1])
    conditions += [
        ops.equal(right[place], 0)
        for place in range(len(rows))
        if place >= len(given.variables) or not system.rows[place][place]
    ]
    forward = {v: analyzer.simplify(_sum(weights, values)) for v, weights in zip(given.variables, system.right)}
    back = {
        value: analyzer.simplify(_sum(weights, list(given.variables)))
        for value, weights in zip(values, system.inverse)
        if isinstance(value, Var) and any(value is one for one in fresh)
    }
    conditions += [substitute(relation, forward) for relation in others]
    return IntConstraintsTransform(given, _described(given, forward, back, fresh, conditions), forward, back)


def constraints(equations: Any, variables: Sequence[Var] | None, ranges: Mapping[Var, Range] | None) -> IntConstraints:
    """A system as solvers are given it: one relation or several, or a description that is complete already."""
    if isinstance(equations, IntConstraints):
        return equations
    relations = [ops.convert(e) for e in (equations if isinstance(equations, (list, tuple)) else [equations])]
    found = variables or [n for n in post_order(relations) if isinstance(n, Var)]
    return IntConstraints(list(dict.fromkeys(found)), dict(ranges or {}), relations)


def _split(given: IntConstraints) -> tuple[Matrix, list[PrimExpr], list[PrimExpr]]:
    """Coefficients and right sides of the linear equations; the other relations."""
    rows: Matrix = []
    sides: list[PrimExpr] = []
    others: list[PrimExpr] = []
    for relation in given.relations:
        parts = detect_linear_equation(relation.a - relation.b, given.variables) if isinstance(relation, tir.EQ) else []
        numbers = [p.value for p in parts[:-1] if isinstance(p, IntImm)]
        if not parts or len(numbers) < len(parts) - 1:
            others.append(relation)
        else:
            rows.append(numbers)
            sides.append(ops.negative(parts[-1]))
    return rows, sides, others


def _described(
    given: IntConstraints,
    forward: Mapping[Var, PrimExpr],
    back: Mapping[Var, PrimExpr],
    fresh: Sequence[Var],
    conditions: list[PrimExpr],
) -> IntConstraints:
    """The new variables with the ranges that follow, and what they have to satisfy besides."""
    ranges: dict[Var, Range] = {}
    analyzer = Analyzer()
    for var in fresh:
        reach = eval_set(back[var], given.ranges)
        if reach.min is not None and reach.max is not None and not _mentions(given, reach.min, reach.max):
            ranges[var] = Range(reach.min, analyzer.simplify(reach.max - reach.min + 1))
            analyzer.bind(var, ranges[var])
    for var, domain in given.ranges.items():
        value = forward.get(var, var)
        conditions += [ops.greater_equal(value, domain.min), ops.less(value, ops.add(domain.min, domain.extent))]
    left = [found for found in (analyzer.simplify(c) for c in conditions) if not _is_true(found)]
    never = any(isinstance(c, IntImm) for c in left)
    return IntConstraints(list(fresh), ranges, [literal(False)] if never else left)


def _mentions(given: IntConstraints, *roots: PrimExpr) -> bool:
    return bool(set(given.variables) & set(post_order(roots)))


def _is_true(relation: PrimExpr) -> bool:
    return isinstance(relation, IntImm) and bool(relation.value)


def _sum(weights: Sequence[int], terms: Sequence[PrimExpr]) -> PrimExpr:
    found: PrimExpr = IntImm(terms[0].dtype if terms else "int32", 0)
    for weight, term in zip(weights, terms):
        found = ops.add(found, ops.multiply(term, weight))
    return found


class _Diagonal:
    """`rows` made diagonal: left @ given @ right; `inverse` is that of `right`."""

    def __init__(self, rows: Matrix, width: int) -> None:
        self.rows = [list(row) for row in rows]
        self.left, self.right, self.inverse = _identity(len(rows)), _identity(width), _identity(width)
        for place in range(min(len(rows), width)):
            while self._pivot(place) and self._clear(place):
                pass

    def _pivot(self, at: int) -> bool:
        """Bring the least number of the rest to the diagonal; False if there is none but 0."""
        rest = [
            (abs(v), i, j) for i, row in enumerate(self.rows) if i >= at for j, v in enumerate(row) if j >= at and v
        ]
        if not rest:
            return False
        _, row, column = min(rest)
        for matrix in (self.rows, self.left):
            matrix[at], matrix[row] = matrix[row], matrix[at]
        for matrix in (self.rows, self.right):
            for one in matrix:
                one[at], one[column] = one[column], one[at]
        self.inverse[at], self.inverse[column] = self.inverse[column], self.inverse[at]
        return True

    def _clear(self, at: int) -> bool:
        """Take multiples of the pivot off its row and column; True if something is left there."""
        pivot = self.rows[at][at]
        for row in range(at + 1, len(self.rows)):
            times = self.rows[row][at] // pivot
            for matrix in (self.rows, self.left):
                matrix[row] = [x - times * y for x, y in zip(matrix[row], matrix[at])]
        for column in range(at + 1, len(self.right)):
            times = self.rows[at][column] // pivot
            for matrix in (self.rows, self.right):
                for one in matrix:
                    one[column] -= times * one[at]
            self.inverse[at] = [x + times * y for x, y in zip(self.inverse[at], self.inverse[column])]
        below = any(row[at] for row in self.rows[at + 1 :])
        return below or any(self.rows[at][at + 1 :])


def _identity(size: int) -> Matrix:
    return [[int(i == j) for j in range(size)] for i in range(size)]
