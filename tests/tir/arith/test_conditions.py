"""Conditions in canonical form: what is compared keeps the width it is computed in."""

from __future__ import annotations

import itertools

import pytest

from baton._src.ir.expr import PrimExpr
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import Var

A, B = Var("a", "uint8"), Var("b", "uint8")
P, Q = Var("p", "bool"), Var("q", "bool")


def wide(x: PrimExpr) -> PrimExpr:
    return ops.cast("int32", x)


@pytest.mark.parametrize(
    "condition", [wide(A) + wide(B) >= 200, wide(A) + wide(B) > 300, tir.EQ(wide(A) + wide(B), tir.literal(256))]
)
def test_negated_sums_of_bytes_do_not_wrap(condition: PrimExpr) -> None:
    """Guards that terms are summed in the dtype of the comparison: `not a + b >= 200` became a + b < 200 in uint8."""
    negated = Analyzer().simplify(tir.Not(condition))
    for a, b in itertools.product((0, 1, 100, 156, 200, 255), repeat=2):
        assert evaluate(negated, {A: a, B: b}) == (not evaluate(condition, {A: a, B: b}))


@pytest.mark.parametrize("condition", [wide(P) + wide(Q) >= 2, tir.EQ(wide(P) + wide(Q), tir.literal(1))])
def test_negated_sums_of_bools_are_sums_of_integers(condition: PrimExpr) -> None:
    """Guards the same for bools, whose sum is a disjunction (and 2 is no bool: an error)."""
    negated = Analyzer().simplify(tir.Not(condition))
    for p, q in itertools.product((False, True), repeat=2):
        assert evaluate(negated, {P: p, Q: q}) == (not evaluate(condition, {P: p, Q: q}))


def test_questions_do_not_change_how_conditions_are_written() -> None:
    """Guards `equal`, which noted its difference as int64: x == y was simplified to a comparison of int64 after it."""
    x, y = Var("x"), Var("y")
    analyzer = Analyzer()
    assert analyzer.equal(x + 3, y) is None
    assert str(analyzer.simplify(tir.EQ(x + 3, y))) == "x == y - 3"


@pytest.mark.parametrize("compare", [tir.EQ, tir.NE, tir.LT, tir.GE])
def test_numbers_of_small_types_are_numbers(compare: type) -> None:
    """Found by random kernels: `cast(int32, int8(3)) != -2` failed, as it was decided when it was written out."""
    for small, x in (("int8", 3), ("uint8", 200), ("int16", -2)):
        condition = compare(tir.Cast("int32", tir.IntImm(small, x)), tir.literal(-2))
        found = Analyzer().simplify(condition)
        assert isinstance(found, tir.IntImm)
        assert found.value == evaluate(condition, {})
