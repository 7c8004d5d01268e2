"""Fourier-Motzkin elimination: ranges and relations hold for exactly the integers that satisfy the system."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir import operators as ops
from baton._src.tir.arith.systems.linear_inequalities import IntGroupBounds, solve_linear_inequalities
from baton._src.tir.arith.systems.linear_systems import IntConstraints, IntConstraintsTransform
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import IntImm, Var

REACH = range(-7, 8)
Values = Mapping[Var, int]


def holds(relation: PrimExpr, values: Values) -> bool:
    return bool(evaluate(relation, values))


def points(variables: Sequence[Var], reach: Sequence[int] = REACH) -> Iterator[dict[Var, int]]:
    for numbers in itertools.product(reach, repeat=len(variables)):
        yield dict(zip(variables, numbers))


def admits(found: IntConstraints, values: Values) -> bool:
    inside = all(
        0 <= values[var] - evaluate(r.min, values) < evaluate(r.extent, values) for var, r in found.ranges.items()
    )
    return inside and all(holds(relation, values) for relation in found.relations)


def check(relations: list[Any], variables: list[Var], ranges: dict[Var, Range] | None = None) -> list[Any]:
    """Both forms of the result admit the same points as the system; gives them."""
    limits = [c for v, r in (ranges or {}).items() for c in (v >= r.min, v < r.min + r.extent)]
    found = solve_linear_inequalities(relations, variables, ranges)
    assert isinstance(found, IntConstraints)
    wanted = [p for p in points(variables) if all(holds(c, p) for c in (*relations, *limits))]
    assert [p for p in points(variables) if admits(found, p)] == wanted
    moved = solve_linear_inequalities(relations, variables, ranges, deskew_range=True)
    assert isinstance(moved, IntConstraintsTransform)
    assert all(evaluate(r.min) == 0 for r in moved.dst.ranges.values())
    if moved.src_to_dst:
        for point in wanted:
            there = {new: evaluate(back, point) for new, back in moved.dst_to_src.items()}
            assert admits(moved.dst, there)
            assert {var: evaluate(forward, there) for var, forward in moved.src_to_dst.items()} == point
    else:
        assert not wanted
    return [found, moved]


def variables(names: str) -> list[Var]:
    return [Var(name) for name in names.split()]


def test_a_triangle() -> None:
    """Guards the smallest boxes, and that what they do not say stays a relation."""
    x, y = variables("x y")
    found, _ = check([x >= 0, x <= y, y < 6], [x, y])
    assert [(int(found.ranges[v].min), int(found.ranges[v].extent)) for v in (x, y)] == [(0, 6), (0, 6)]
    assert len(found.relations) == 1


def test_a_skewed_box_becomes_a_straight_one() -> None:
    """Guards that new variables follow those their ranges start at."""
    x, y = variables("x y")
    _, moved = check([x >= y, x < y + 3, y >= 1, y < 5], [x, y])
    assert sorted(int(r.extent) for r in moved.dst.ranges.values()) == [3, 4]
    assert not moved.dst.relations


def test_variables_that_are_told_are_gone() -> None:
    """Guards equations among the relations, and ranges of one number."""
    x, y = variables("x y")
    found, moved = check([ops.equal(x, y + 2), y >= 0, y < 4], [x, y])
    assert int(found.ranges[x].extent) == 1
    assert len(moved.dst.variables) == 1
    _, moved = check([x >= 3, x <= 3], [x])
    assert not moved.dst.variables


def test_integers_between_multiples() -> None:
    """Guards coefficients: bounds round inwards, and gaps without an integer are found."""
    x, y = variables("x y")
    found, _ = check([3 * x >= 4, 2 * x <= 11], [x])
    assert (int(found.ranges[x].min), int(found.ranges[x].extent)) == (2, 4)
    found, moved = check([3 * x >= 4, 3 * x <= 5], [x])
    assert [r.value for r in found.relations if isinstance(r, IntImm)] == [0]
    assert not moved.src_to_dst
    check([2 * x + 3 * y <= 7, 5 * x - y >= -6, y >= -3, y <= 4], [x, y])


def test_open_systems_and_other_relations() -> None:
    """Guards variables without bounds, and relations that are not linear."""
    x, y = variables("x y")
    found, _ = check([x >= 2], [x, y])
    assert not found.ranges
    check([x * x <= 9, x >= 0, y < x, y >= 0], [x, y], {x: Range(IntImm("int32", 0), IntImm("int32", 6))})


def test_symbolic_bounds() -> None:
    """Guards sizes that are no variables of the system."""
    x, n = variables("x n")
    found = solve_linear_inequalities([x >= 1, x <= n], [x])
    assert isinstance(found, IntConstraints)
    for size in range(1, 5):
        assert evaluate(found.ranges[x].extent, {n: size}) == size


@pytest.mark.parametrize("seed", range(25))
def test_random_systems(seed: int) -> None:
    """Guards systems of every shape against counting."""
    draw = random.Random(seed)
    names = variables("x y z")[: draw.randint(2, 3)]
    box = [c for v in names for c in (v >= draw.randint(-6, 0), v <= draw.randint(0, 6))]
    cuts = []
    for _ in range(draw.randint(1, 3)):
        total: Any = IntImm("int32", draw.randint(-8, 8))
        for var in names:
            total = total + var * draw.randint(-3, 3)
        cuts.append(ops.equal(total, 0) if draw.random() < 0.2 else total >= 0)
    check([*box, *cuts], names)


def test_bounds_of_a_group() -> None:
    """Guards `IntGroupBounds`: of ranges, and the best range of several bounds."""
    x = Var("x")
    ten = Range(IntImm("int32", 2), IntImm("int32", 10))
    bounds = IntGroupBounds.from_range(ten)
    assert [int(e) for e in (bounds.coef, *bounds.lower, *bounds.upper)] == [1, 2, 11]
    two = IntGroupBounds(IntImm("int32", 2), (IntImm("int32", 1), x), (), (IntImm("int32", 9),))
    best = two.find_best_range()
    assert best is not None
    assert (int(best.min), int(best.extent)) == (1, 5)
    assert IntGroupBounds(IntImm("int32", 1), (x,), (), ()).find_best_range() is None
