"""What Python operators on scalar expressions build."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.builders import scalar_functions as fn
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.expr import FloatImm, IntImm, IterVar, Var

I32, I64 = Var("i", "int32"), Var("n", "int64")
F32, F16, B = Var("x", "float32"), Var("h", "float16"), Var("b", "bool")


def test_python_numbers_adapt_to_the_other_operand() -> None:
    """Guards that literals do not widen or narrow expressions, unless they do not fit."""
    assert (I64 + 1).b.dtype == "int64"
    assert (1 + F16).dtype == "float16"
    assert (F16 * 1.5).dtype == (1.5 - F16).dtype == "float32"  # as in TVM: a number is a float32 or an int32
    assert [(Var("v", narrow) + 1).dtype for narrow in ("int8", "uint16", "uint32")] == ["int32", "int32", "uint32"]
    assert (Var("d", "float64") + 0.1).b.value == 0.1
    assert (F32 * 2).b.value == 2.0
    assert (I32 + 2**40).dtype == "int64"
    assert (I32 * 1.5).dtype == "float32"
    assert (Var("u", "uint8") + -1).dtype == "int32"
    assert (B + 1).dtype == "int32"


def test_numbers_may_stand_first() -> None:
    """Guards functions of bits and powers with a number on the left, which Python refused."""
    for made, value in ((1 << I32, 32), (64 >> I32, 2), (7 & I32, 5), (8 | I32, 13), (4 ^ I32, 1), (2**I32, 32)):
        assert made.dtype == "int32"
        assert evaluate(made, {I32: 5}) == value


@pytest.mark.parametrize(
    ("a", "b", "common"),
    [
        ("int32", "int64", "int64"),
        ("int8", "int32", "int32"),
        ("uint8", "int32", "int32"),
        ("uint32", "int32", "uint32"),
        ("int8", "uint32", "uint32"),
        ("uint32", "int64", "int64"),
        ("float16", "float32", "float32"),
        ("float16", "bfloat16", "float32"),
        ("int64", "float16", "float16"),
        ("bool", "int8", "int8"),
    ],
)
def test_operands_are_matched_as_in_tvm(a: str, b: str, common: str) -> None:
    """Guards the promotion rules, both ways round."""
    x, y = Var("a", a), Var("b", b)
    assert (x + y).dtype == (y + x).dtype == common


def test_literals_fold_in_the_arithmetic_of_their_dtype() -> None:
    """Guards wrapping, rounding, division; and results that are zero (falsy literals)."""
    assert (IntImm("int32", 2) - 2).value == 0
    assert (IntImm("int8", 127) + IntImm("int8", 1)).value == -128
    assert ops.truncdiv(-7, 2).value == -3
    assert ops.floordiv(-7, 2).value == -4
    assert ops.truncmod(-7, 2).value == -1
    assert (FloatImm("float32", 0.1) + FloatImm("float32", 0.2)).value == float(np.float32(0.1) + np.float32(0.2))
    assert ops.cast("int8", IntImm("int32", 300)).value == 44
    assert (IntImm("int32", 1) << 3).value == 8
    assert ops.min(3, 5).value == 3


def test_trivial_identities_keep_the_operand_itself() -> None:
    """Guards i + 0, i * 1, i - i, i // 1, i % 1; and that x + 0.0 is left alone (-0.0)."""
    assert (I32 + 0) is I32
    assert (I32 * 1) is I32
    assert (I32 // 1) is I32
    assert (I32 - I32).value == 0
    assert (I32 % 1).value == 0
    assert isinstance(F32 + 0.0, tir.Add)
    assert isinstance(F32 - F32, tir.Sub)
    assert (F32 * 1.0) is F32


def test_equality_builds_an_expression_whose_truth_is_identity() -> None:
    """Guards `in`, tuple comparison and dict keys with expressions."""
    m = Var("m", "int64")
    assert isinstance(m == I64, tir.EQ)
    assert isinstance(m != I64, tir.NE)
    assert I64 in (m, I64)
    assert I64 not in (m, 3)
    assert (I64, IntImm("int64", 3)) == (I64, 3)
    assert {I64: 1, m: 2}[m] == 2
    assert (I64 == None) is False  # noqa: E711
    assert (I64 == "n") is False
    assert Var("p", "handle") != I64
    assert bool(IntImm("int32", 3) == 3)


def test_an_expression_has_no_truth_value() -> None:
    """Guards against `if n > 0` at build time."""
    with pytest.raises(DiagnosticError) as caught:
        bool(I64 > 0)
    assert caught.value.code == "tir-truth"


def test_integer_division_must_be_named() -> None:
    """Guards against the ambiguity of `/`; floats divide."""
    with pytest.raises(DiagnosticError) as caught:
        _ = I32 / 2
    assert caught.value.code == "tir-division"
    assert isinstance(F32 / 2, tir.Div)
    with pytest.raises(DiagnosticError):
        _ = I32 // 0


def test_logic_folds_and_wants_conditions() -> None:
    """Guards tir.all, tir.any and the operators & and | on conditions."""
    assert ops.all().value == 1
    assert ops.any().value == 0
    assert ops.all(I32 > 0, True) is not None
    assert isinstance((I32 > 0) & (I32 < 5), tir.And)
    assert isinstance(~(I32 > 0), tir.Not)
    with pytest.raises(DiagnosticError):
        ops.logical_and(I32, I32)


def test_an_axis_stands_for_its_variable() -> None:
    """Guards k + 1 and A[k] with reduce axes."""
    k = IterVar(None, I32, "reduce")
    assert (k + 1).a is I32
    assert (2 * k).a is I32 or (2 * k).b is I32


def test_intrinsics_check_their_operands() -> None:
    """Guards float-only intrinsics, counts and unknown names."""
    assert fn.exp(F16).dtype == "float16"
    for wrong in (lambda: fn.exp(I32), lambda: fn.call("exp", F32, F32), lambda: fn.call("nothing", F32)):
        with pytest.raises(DiagnosticError):
            wrong()
    assert fn.isnan(I32).value == 0
    assert fn.if_then_else(I32 > 0, 1.5, F32).dtype == "float32"


@pytest.mark.rule("RELAX-GRAMMAR-03")
def test_sums_differences_and_products_evaluate_as_integers() -> None:
    """With n=5: n + 2 = 7, n - 2 = 3, n * n = 25."""
    assert [evaluate(e, {I64: 5}) for e in (tir.Add(I64, 2), tir.Sub(I64, 2), tir.Mul(I64, I64))] == [7, 3, 25]


@pytest.mark.rule("RELAX-GRAMMAR-04")
def test_div_truncates_toward_zero() -> None:
    """With n=7: Div(n, 2) = 3; with n=-7: -3."""
    assert [evaluate(tir.Div(I64, 2), {I64: n}) for n in (7, -7)] == [3, -3]


@pytest.mark.parametrize(
    ("build", "numpy"),
    [
        (fn.exp, np.exp),
        (fn.sqrt, np.sqrt),
        (fn.tanh, np.tanh),
        (fn.floor, np.floor),
        (fn.nearbyint, np.rint),
        (fn.round, lambda x: np.sign(x) * np.floor(np.abs(x) + 0.5)),
        (fn.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
        (fn.abs, np.abs),
    ],
)
def test_intrinsics_mean_what_numpy_says(build: object, numpy: object) -> None:
    """Guards the table's NumPy column."""
    for value in (0.5, 1.5, 2.25):
        found = evaluate(build(F32), {F32: np.float32(value)})
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, numpy(np.float32(value)), rtol=1e-6)


def test_integers_wrap_when_evaluated() -> None:
    """Guards the oracle's int32 and uint8 arithmetic (random numbers rely on it)."""
    u = Var("u", "uint32")
    assert evaluate(u * 3, {u: 2**31}) == 2**31
    assert evaluate(I32 + 1, {I32: 2**31 - 1}) == -(2**31)
    assert evaluate(fn.popcount(u), {u: 7}) == 3
    assert evaluate(fn.clz(u), {u: 1}) == 31
    assert evaluate(fn.q_multiply_shift(I32, 1 << 30, 31, 1), {I32: 5}) == 1


def test_long_chains_evaluate_without_recursion() -> None:
    """Guards sums and nested conditions of thousands of terms."""
    total, nested = I64, I64
    for k in range(5_000):
        total = total + I64
        nested = fn.if_then_else(k > I64, IntImm("int64", k), nested)
    assert evaluate(total, {I64: 2}) == 10_002
    assert evaluate(nested, {I64: 4_990}) == 4_999
    deep = F32
    for _ in range(3_000):
        deep = fn.tanh(tir.Min(deep, F32) * 1.5)
    assert np.isfinite(evaluate(deep, {F32: np.float32(0.5)}))


def test_literals_stand_for_the_nearest_number_of_their_dtype() -> None:
    """Guards folds of numbers that a dtype does not have: they compared, and were widened, unrounded."""
    assert (FloatImm("float32", 16777217.0) == FloatImm("float32", 16777216.0)).value == 1
    assert ops.cast("float64", FloatImm("float32", 0.1)).value == float(np.float32(0.1))
    assert ops.cast("int32", ops.cast("float32", IntImm("int32", 16777217))).value == 16777216
    assert ops.const(0.1, "float32").value == 0.1  # what is written stays as it is


def test_constants_take_the_type_of_a_numpy_number() -> None:
    """Guards `const` of NumPy's numbers and of floats beyond float32, which TVM keeps."""
    assert ops.const(np.float64(1.5)).dtype == ops.const(1e39).dtype == "float64"
    assert ops.const(np.int8(3)).dtype == "int8"
    assert ops.const(1.5).dtype == "float32"
