"""Solutions of linear equations: all integers in the ranges are tried."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import Range
from baton._src.ir.traverse import substitute
from baton._src.tir import operators as ops
from baton._src.tir.arith.systems.linear_systems import IntConstraints, solve_linear_equations
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import IntImm, Var

REACH = range(-3, 5)


def _points(described: IntConstraints, dims: dict[Var, range]) -> set[tuple[int, ...]]:
    """The values of the variables for which the relations hold."""
    found = set()
    for point in itertools.product(*(dims[v] for v in described.variables)):
        values = dict(zip(described.variables, point))
        if all(evaluate(r, values) for r in described.relations):
            found.add(point)
    return found


def _dims(described: IntConstraints) -> dict[Var, range]:
    ends = {v: (evaluate(r.min), evaluate(r.min + r.extent)) for v, r in described.ranges.items()}
    return {v: range(*ends[v]) for v in described.variables}


def check(variables: Sequence[Var], equations: list[Any]) -> int:
    """Every solution comes from the new variables and goes back to them, and nothing else does."""
    ranges = {v: Range(IntImm("int32", REACH.start), IntImm("int32", len(REACH))) for v in variables}
    solved = solve_linear_equations(equations, list(variables), ranges)
    expected = _points(solved.src, dict.fromkeys(variables, REACH))
    found = set()
    for point in _points(solved.dst, _dims(solved.dst)):
        new = dict(zip(solved.dst.variables, point))
        old = {
            v: evaluate(substitute(solved.src_to_dst[v], {n: IntImm("int32", i) for n, i in new.items()}))
            for v in variables
        }
        assert {n: evaluate(e, old) for n, e in solved.dst_to_src.items()} == new
        found.add(tuple(old.values()))
    assert found == expected
    return len(expected)


def test_random_systems() -> None:
    """Guards the diagonal form, divisibility, contradictions and ranges."""
    draw = random.Random(0)
    solvable = 0
    for _ in range(150):
        variables = [Var(name, "int32") for name in "xyz"[: draw.randint(1, 3)]]
        equations = []
        for _ in range(draw.randint(1, 3)):
            terms = [ops.multiply(v, draw.randint(-4, 4)) for v in variables]
            total = terms[0]
            for term in terms[1:]:
                total = ops.add(total, term)
            equations.append(ops.equal(total, draw.randint(-4, 4)))
        solvable += check(variables, equations) > 0
    assert solvable > 30


def test_one_solution_and_none() -> None:
    """Guards that what is determined has no new variables, and that a contradiction says False."""
    x, y = Var("x", "int32"), Var("y", "int32")
    solved = solve_linear_equations([ops.equal(x + y, 20), ops.equal(x - y, 10)], [x, y])
    assert not solved.dst.variables
    assert [evaluate(solved.src_to_dst[v]) for v in (x, y)] == [15, 5]
    never = solve_linear_equations([ops.equal(x * 2, 5)], [x])
    assert [evaluate(r) for r in never.dst.relations] == [False]


def test_other_relations_are_carried_over() -> None:
    """Guards relations that are no equations, and right sides that are symbols."""
    x, y, n = (Var(name, "int32") for name in "xyn")
    solved = solve_linear_equations([ops.equal(x + y, n), ops.less(x, y)], [x, y])
    (free,) = solved.dst.variables
    (relation,) = solved.dst.relations
    for value, size in itertools.product(range(-3, 4), repeat=2):
        values = {free: value, n: size}
        a, b = (evaluate(solved.src_to_dst[v], values) for v in (x, y))
        assert a + b == size
        assert bool(evaluate(relation, values)) == (a < b)
