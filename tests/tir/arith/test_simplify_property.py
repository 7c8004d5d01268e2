"""The simplifier and the bounds against evaluation, over random expressions."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir import expr as tir
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import IntImm, SizeVar, Var
from baton._src.tir.operators import bitwise_and, bitwise_or, bitwise_xor

N, M = Var("n", "int64"), Var("m", "int64")
S = SizeVar("s", "int64")
I, J = Var("i", "int64"), Var("j", "int64")  # noqa: E741
EXTENTS = {I: 8, J: 3}
VARS = (N, M, S, I, J)


def _literal(value: int) -> PrimExpr:
    return IntImm("int64", value)


def _divided(op: type, pair: tuple[PrimExpr, int]) -> PrimExpr:
    return op(pair[0], _literal(pair[1]))


leaves = st.one_of(st.sampled_from(VARS), st.integers(-9, 9).map(_literal))
divisors = st.sampled_from([-4, -1, 1, 2, 3, 4, 8, 12])


def _grow(inner: st.SearchStrategy[PrimExpr]) -> st.SearchStrategy[PrimExpr]:
    two = st.tuples(inner, inner)
    divided = st.tuples(inner, divisors)
    return st.one_of(
        two.map(lambda p: tir.Add(*p)),
        two.map(lambda p: tir.Sub(*p)),
        two.map(lambda p: tir.Mul(*p)),
        two.map(lambda p: tir.Min(*p)),
        two.map(lambda p: tir.Max(*p)),
        divided.map(lambda p: _divided(tir.FloorDiv, p)),
        divided.map(lambda p: _divided(tir.FloorMod, p)),
        divided.map(lambda p: _divided(tir.Div, p)),
        divided.map(lambda p: _divided(tir.Mod, p)),
        # Symbolic divisors that are never 0.
        st.tuples(inner, st.sampled_from([S + 1, S * 2 + 3])).map(lambda p: tir.FloorDiv(*p)),
        st.tuples(inner, st.sampled_from([S + 1, S * 2 + 3])).map(lambda p: tir.FloorMod(*p)),
        st.tuples(inner, inner, inner, inner).map(lambda p: if_then_else(tir.LT(p[0], p[1]), p[2], p[3])),
        st.tuples(st.sampled_from([bitwise_and, bitwise_or, bitwise_xor]), inner, inner).map(lambda p: p[0](*p[1:])),
    )


integers = st.recursive(leaves, _grow, max_leaves=12)
comparisons = st.tuples(st.sampled_from([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE]), integers, integers).map(
    lambda t: t[0](t[1], t[2])
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: tir.And(*p)),
        st.tuples(inner, inner).map(lambda p: tir.Or(*p)),
        inner.map(tir.Not),
    ),
    max_leaves=3,
)
values = st.fixed_dictionaries(
    {
        N: st.integers(-30, 30),
        M: st.integers(-30, 30),
        S: st.integers(0, 9),
        I: st.integers(0, EXTENTS[I] - 1),
        J: st.integers(0, EXTENTS[J] - 1),
    }
)


def _analyzer() -> Analyzer:
    analyzer = Analyzer()
    for var, extent in EXTENTS.items():
        analyzer.bind(var, Range(_literal(0), _literal(extent)))
    return analyzer


@settings(max_examples=400)
@given(integers, st.lists(values, min_size=1, max_size=4))
def test_simplified_integers_have_the_same_value(expr: PrimExpr, points: list[dict[Var, int]]) -> None:
    """Guards every rule of the canonical form, the constant bounds and the modular sets."""
    analyzer = _analyzer()
    simple = analyzer.simplify(expr)
    bound, modular = analyzer.const_int_bound(expr), analyzer.modular_set(expr)
    for point in points:
        value = evaluate(expr, point)
        assert evaluate(simple, point) == value
        assert bound.min_value <= value <= bound.max_value
        assert (value - modular.base) % modular.coeff == 0 if modular.coeff else value == modular.base


@settings(max_examples=300)
@given(conditions, st.lists(values, min_size=1, max_size=4))
def test_simplified_conditions_have_the_same_value(condition: PrimExpr, points: list[dict[Var, int]]) -> None:
    """Guards comparisons, logic, and the proofs behind them."""
    simple = _analyzer().simplify(condition)
    for point in points:
        assert bool(evaluate(simple, point)) == bool(evaluate(condition, point))


@settings(max_examples=300)
@given(conditions, integers, integers, st.lists(values, min_size=1, max_size=6))
def test_answers_under_constraints_hold_wherever_the_constraint_does(
    condition: PrimExpr, a: PrimExpr, b: PrimExpr, points: list[dict[Var, int]]
) -> None:
    """Guards what a constraint is taken to say, and that it is forgotten afterwards."""
    analyzer = _analyzer()
    with analyzer.constrained(condition):
        simple, equal = analyzer.simplify(a), analyzer.equal(a, b)
        bound = analyzer.const_int_bound(a)
        below = analyzer.prove(tir.LE(a, b))
    for point in points:
        if not evaluate(condition, point):
            continue
        value = evaluate(a, point)
        assert evaluate(simple, point) == value
        assert bound.min_value <= value <= bound.max_value
        assert equal is None or equal == (value == evaluate(b, point))
        assert not below or value <= evaluate(b, point)


@settings(max_examples=200)
@given(integers)
@example(tir.Min(M + J, tir.Min(N, J)))
def test_simplifying_twice_changes_nothing(expr: PrimExpr) -> None:
    """Guards the canonical form: a fixed point, and the same object where nothing changes."""
    analyzer = _analyzer()
    once = analyzer.simplify(expr)
    assert analyzer.equal(once, expr) is True
