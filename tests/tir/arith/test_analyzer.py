"""What the analyzer must be able to say: the shapes and indices that real models give it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from baton._src.ir.expr import PrimExpr, Range
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import NEG_INF, POS_INF, Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import AnyDim, BufferLoad, IntImm, SizeVar, Var, literal
from baton._src.tir.text.printer import node_text

B, S = SizeVar("b", "int64"), SizeVar("s", "int64")
N, M, X, Y = (Var(name, "int64") for name in "nmxy")
K, L = Var("k", "int32"), Var("l", "int32")
I, J, H, D = (Var(name, "int64") for name in "ijhd")  # noqa: E741


def bound_to(**extents: Any) -> Analyzer:
    analyzer = Analyzer()
    variables = {"i": I, "j": J, "h": H, "d": D, "x": X, "y": Y}
    for name, extent in extents.items():
        analyzer.bind(variables[name], Range(IntImm("int64", 0), ops.convert(extent, IntImm("int64", 0).dtype)))
    return analyzer


def shown(expr: Any) -> str:
    return node_text(expr).replace("T.int64(", "").replace(")", "").replace("(", "")


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        (ops.bitwise_and(N, 3), 0, 3),
        (ops.bitwise_and(I, J), 0, 5),
        (ops.bitwise_or(I, 8), 8, 15),
        (ops.bitwise_xor(I, J), 0, 7),
        (ops.bitwise_xor(I, N), NEG_INF, POS_INF),
        (ops.bitwise_and(N, -4), NEG_INF, POS_INF),
    ],
)
def test_bits_have_bounds(expr: PrimExpr, low: int, high: int) -> None:
    """Guards indices by bits (banks of memory): nothing was known of them, so no buffer was found large enough."""
    found = bound_to(i=8, j=6).const_int_bound(expr)
    assert (found.min_value, found.max_value) == (low, high)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        ((N * 8 + M * 4 + 3) // 4, "n * 2 + m"),
        ((N - 1) // 2 + 1, "n + 1 // 2"),
        ((N // 4) // 8, "n // 32"),
        (N // 4 * 4 + N % 4, "n"),
        (N % 8 % 4, "n % 4"),
        ((N * 6) % 4, "n % 2 * 2"),
        (N % 4 + N // 4 % 2 * 4, "n % 8"),
        ((N + 1) * (N - 1) - N * N, "-1"),
        (ops.min(N + 1, N + 3), "n + 1"),
        (ops.max(N, ops.min(N, M)), "n"),
        (ops.min(N + 2, M + 2), "T.minn, m + 2"),
        (tir.Cast("int64", tir.Cast("int32", IntImm("int64", 7))), "7"),
        (N * M // M, "n"),
        ((N * M + M) // M, "n + 1"),
        ((2 * N + 1) % 2, "1"),
    ],
)
def test_shapes_simplify(expr: PrimExpr, expected: str) -> None:
    """Guards the forms users see in shapes."""
    found = Analyzer().simplify(expr)
    assert shown(found) == expected


def test_fused_reshapes_disappear() -> None:
    """Guards index arithmetic of reshapes, with numbers and with symbolic sizes."""
    static = bound_to(i=4, j=768, h=12, d=64)
    assert shown(static.simplify((I * 768 + J) // 64 % 12)) == "j // 64"
    assert static.simplify((I * 768 + H * 64 + D) // 768) is I
    assert static.simplify((I * 768 + H * 64 + D) % 768 // 64) is H
    assert static.simplify((I * 768 + H * 64 + D) % 64) is D
    symbolic = bound_to(i=B, j=S, h=12, d=64)
    flat = (I * S + J) * 768 + H * 64 + D
    assert symbolic.simplify(flat // 768 // S) is I
    assert symbolic.simplify(flat // 768 % S) is J
    assert symbolic.simplify(flat % 768 // 64) is H
    fused = bound_to(x=B * S)
    assert fused.simplify((X // S) * S + X % S) is X
    assert shown(fused.simplify(X // S % B)) == "x // s"
    assert fused.prove(X // S < B)
    assert fused.prove(X % S < S)


def test_equality_is_three_valued() -> None:
    """Guards True, False and None; `?` is never decided."""
    analyzer = Analyzer()
    assert analyzer.equal(N + 1 - 1, N) is True
    assert analyzer.equal(2 * N, N + N) is True
    assert analyzer.equal(3, 4) is False
    assert analyzer.equal(N, N + 1) is False
    assert analyzer.equal(2 * N, 2 * M + 1) is False
    assert analyzer.equal(N, M) is None
    assert analyzer.equal(N - N // 4 * 4, N % 4) is True
    assert analyzer.equal(AnyDim(), 3) is None
    assert analyzer.equal(IntImm("int64", 3), 3) is True
    assert analyzer.equal(IntImm("int32", 3), IntImm("int64", 3)) is True


def test_nothing_is_assumed_of_a_plain_variable() -> None:
    """Guards soundness: only bounds, marks and constraints give signs."""
    analyzer = Analyzer()
    assert not analyzer.prove(N + 1 > 0)
    assert analyzer.prove(S + 1 > 0)
    analyzer.mark_nonnegative(N)
    assert analyzer.prove(N + 1 > 0)
    assert analyzer.const_int_bound(N).min_value == 0
    assert analyzer.const_int_bound(M).min_value == NEG_INF
    assert analyzer.const_int_bound(N).max_value == POS_INF


def test_the_rule_most_often_missing() -> None:
    """Guards x - d + 1 <= d * (x // d) <= x."""
    analyzer = Analyzer()
    for divisor in (4, S + 1):
        assert analyzer.prove(X // divisor * divisor <= X)
        assert analyzer.prove(X - divisor + 1 <= X // divisor * divisor)
    assert analyzer.prove(N % 4 < 4)
    assert analyzer.prove(ops.min(N, M) <= N)
    assert analyzer.prove(ops.max(N, M) >= M)


def test_constraints_hold_inside_only() -> None:
    """Guards scopes, conjunctions, chains of inequalities, equalities and remainders."""
    analyzer = Analyzer()
    with analyzer.constrained(ops.all(N > 4, M < N, X >= M)):
        assert analyzer.prove(N >= 5)
        assert analyzer.prove(M + 1 <= N)
        assert analyzer.const_int_bound(N).min_value == 5
    assert not analyzer.prove(N >= 5)
    with analyzer.constrained(ops.equal(N % 4, 0)):
        assert analyzer.simplify(N // 4 * 4) is N
        assert analyzer.modular_set(N * 2 + 1).coeff == 8
    with analyzer.constrained(ops.equal(N, M + 1)):
        assert analyzer.equal(N, M + 1) is True
    with analyzer.constrained(ops.logical_not(N > 4)):
        assert analyzer.const_int_bound(N).max_value == 4
    assert analyzer.equal(N, M + 1) is None


def test_what_memory_holds_is_no_lasting_fact() -> None:
    """Guards against constraints on loads: a store may change them."""
    from_memory = BufferLoad(decl_buffer((8,), "int64", "A"), (N,))
    analyzer = Analyzer()
    with analyzer.constrained(from_memory > 4):
        assert analyzer.const_int_bound(from_memory).min_value == NEG_INF


def test_unchanged_expressions_come_back_as_the_same_object() -> None:
    """Guards sharing: simplifying what is simple costs no copies."""
    analyzer = Analyzer()
    for expr in (N, N + 1, N * 4 + M, (N + 1) // 2, N % 4, ops.min(N, M), N < M, ops.cast("float32", N)):
        assert analyzer.simplify(expr) is expr


def test_sets_of_indices() -> None:
    """Guards regions: least and greatest index while inner loops run."""

    def spans(expr: PrimExpr, **extents: Any) -> tuple[str, str]:
        domains = {{"i": I, "j": J}[k]: Range(IntImm("int64", 0), ops.convert(v, N.dtype)) for k, v in extents.items()}
        found = eval_set(expr, domains)
        return shown(found.min), shown(found.max)

    assert spans(I * 8 + J, j=8) == ("i * 8", "i * 8 + 7")
    assert spans(N - J, j=8) == ("n - 7", "n")
    assert spans(I * S + J, j=S) == ("i * s", "i * s + s - 1")
    assert spans(I * 2 + J - 1, i=4, j=3) == ("-1", "7")
    assert spans((I * 8 + J) // 8, j=8) == ("i", "i")


def calls_of(work: Callable[[], object]) -> int:
    """How many Python functions run."""
    count = 0

    def tick(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(tick)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def test_long_sums_take_linear_work() -> None:
    """Guards speed: thousands of terms are summed in one go, without recursion; twice as many are twice the work."""

    def left(count: int) -> PrimExpr:
        total: PrimExpr = N
        for k in range(count):
            total = total + (M if k % 2 else N)
        return total

    def right(count: int) -> PrimExpr:
        total: PrimExpr = N
        for _ in range(count):
            total = M + total
        return total

    assert shown(Analyzer().simplify(left(20_000))) == "n * 10001 + m * 10000"
    assert shown(Analyzer().simplify(right(5_000))) == "m * 5000 + n"
    for build in (left, right):
        once, twice = (calls_of(partial(Analyzer().simplify, build(n))) for n in (1_000, 2_000))
        assert 1.5 * once < twice < 2.5 * once


def test_questions_asked_again_take_no_more_work() -> None:
    """Guards that what an analyzer remembers does not slow it down."""
    analyzer = Analyzer()

    def ask(first: int) -> None:
        for k in range(first, first + 100):
            assert analyzer.equal((N + k) * 4 // 2, N * 2 + k * 2) is True

    assert calls_of(lambda: ask(100)) <= 1.2 * calls_of(lambda: ask(0))


def test_shared_subterms_do_not_explode() -> None:
    """Guards DAGs: x = x + x a hundred times, and products that must not be expanded without end."""
    doubled: PrimExpr = N
    for _ in range(40):
        doubled = tir.Add(doubled, doubled)
    assert shown(Analyzer().simplify(doubled)) == f"n * {2**40}"
    power: PrimExpr = N + M
    for _ in range(12):
        power = tir.Mul(power, power)
    assert Analyzer().equal(power, power + 1) is False


@pytest.mark.parametrize(
    ("expr", "same"),
    [
        (K * 1103515245 * 1103515245 + 12345, True),
        (K + 2147483647 + L + 2147483647, True),
        (tir.LE(K + 2147483647, L - 2147483647), True),
        (tir.FloorDiv(tir.FloorDiv(K, literal(65536)) + L, literal(65536)), True),
        (tir.FloorMod(K, literal(8)) + (K + 2147483647 + 1) * 0, False),
    ],
    ids=["product", "sum", "comparison", "quotients", "part"],
)
def test_numbers_beyond_the_dtype_leave_expressions_as_they_are(expr: PrimExpr, same: bool) -> None:
    """Guards against failures on hash functions and the like: constants joined must fit int32."""
    found = Analyzer().simplify(expr)
    assert not same or shown(found) == shown(expr)
    for first, second in ((0, 0), (-3, 1), (1, -7)):
        point = {K: first, L: second}
        assert evaluate(found, point) == evaluate(expr, point)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (ops.max(K, -128), "T.max(-128, k)"),
        (ops.max(ops.min(K, 127), -128), "T.max(-128, T.min(127, k))"),
        (ops.max(K, -5) + 5, "T.max(0, k + 5)"),
        (ops.min(K, 5) - 5, "T.min(0, k - 5)"),
        (ops.max(K + 5, L - 3) + 3 - ops.max(K + 8, L), "0"),
    ],
)
def test_clipping_adds_nothing(expr: PrimExpr, expected: str) -> None:
    """Guards data at the ends of int32: max(x, -128) as max(x + 128, 0) - 128 is wrong for the largest numbers."""
    assert node_text(Analyzer().simplify(expr)) == expected


LANES = tir.Broadcast(literal(4), 4)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (tir.Ramp(K, 1, 4) + tir.Broadcast(L, 4), "T.Ramp(k + l, 1, 4)"),
        (tir.Ramp(K, 1, 4) * tir.Broadcast(literal(2), 4) - tir.Ramp(K, 2, 4), "T.Broadcast(k, 4)"),
        (ops.floordiv(tir.Ramp(K * 8, 4, 4), LANES), "T.Ramp(k * 2, 1, 4)"),
        (ops.floormod(tir.Ramp(K * 8 + 4, 1, 4), LANES), "T.Ramp(0, 1, 4)"),
        (ops.floordiv(tir.Ramp(K, 1, 4), LANES), "T.Ramp(k, 1, 4) // T.Broadcast(4, 4)"),
        (ops.truncdiv(K, 3) * 3 + ops.truncmod(K, 3), "k"),
        (K % 8 // 4 * 4 + K % 4, "k % 8"),
        (ops.truncdiv(ops.truncdiv(K * 6, 3), 4), "T.Div(k * 2, 4)"),
        (ops.truncdiv(ops.truncdiv(K, 3), 4) + ops.truncmod(K * 4, 4), "T.Div(k, 12)"),
        (ops.cast("int32", ops.cast("int64", K)) + 1, "k + 1"),
        (ops.min(K, L) + ops.max(K, L) * 1 + L, "k + l * 2"),
        (ops.min(K * 4 + 2, L * 2 + 2), "T.min(k * 2, l) * 2 + 2"),
        (ops.logical_and(K < 4, K >= 6), "T.bool(False)"),
        (ops.logical_or(K < 4, K >= 4), "T.bool(True)"),
        (ops.logical_and(K < 4, K >= 3), "k < 4 and k >= 3"),
        (K // 8 < 3, "k < 24"),
        (K // 8 >= L, "l <= k // 8"),
        (K // 8 >= -2, "k >= -16"),
    ],
)
def test_operations_come_together(expr: Any, expected: str) -> None:
    """Guards vectors of integers, quotients toward zero, extrema and bounds that exclude each other."""
    assert node_text(Analyzer().simplify(expr)) == expected


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (tir.Max(tir.FloorDiv(literal(4), literal(0)), literal(8)), "8"),
        (tir.GE(tir.FloorDiv(literal(4), literal(0)), literal(1)), "T.bool(False)"),
        (tir.Min(tir.FloorMod(K, literal(0)), literal(1)), "T.FloorMod(k, 0)"),
        (tir.Add(tir.Mod(K, literal(0)), K), "k + T.truncmod(k, 0)"),
    ],
)
def test_what_is_divided_by_zero_is_zero(expr: Any, expected: str) -> None:
    """Found by random kernels: 4 // 0 was proved to be 8 or more, by laws of divisors that are not 0."""
    assert node_text(Analyzer().simplify(expr)) == expected
