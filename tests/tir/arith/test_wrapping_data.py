"""`Simplify` on integers that are read from memory: sums of them wrap, and mean the same afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs

from baton import tir
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import tir as T

ENDS = np.array([2**31 - 1, -(2**31), 2**31 - 2, -(2**31) + 1, 2**30, -(2**30), 2**30 + 1, 0, 1, -1, 5, -7], "int32")


def simplify(func: Any) -> Any:
    return tir.transform.Simplify()(IRModule({"main": func}))["main"]


def last_line(func: Any) -> str:
    return str(func).splitlines()[-1].strip()


def kernel(condition: Any) -> Any:
    """B[i] = 1 where the condition on a = A[i] and b = A[(i + 5) % 12] holds."""
    a, b = tir.decl_buffer((12,), "int32", "A"), tir.decl_buffer((12,), "int32", "B")
    i, x, y = tir.Var("i", "int32"), tir.Var("x", "handle"), tir.Var("y", "handle")
    held = condition(a[i], a[(i + 5) % 12], i)
    store = tir.BufferStore(b, tir.Select(held, ops.const(1), ops.const(0)), [i])
    return tir.PrimFunc([x, y], tir.For(i, 0, 12, tir.ForKind.SERIAL, store), None, {x: a, y: b})


def outcome(func: Any) -> Any:
    found = np.zeros(12, "int32")
    try:
        run_prim_func(func, [ENDS.copy(), found])
    except (DiagnosticError, ZeroDivisionError):
        return None
    return found.tolist()


LEAVES = ("a", "b", "a + i", 0, 1, 3, 8, -5, 100, 2**31 - 1, -(2**31))
NAMES = ("add", "subtract", "multiply", "min", "max", "floordiv", "floormod", "truncdiv", "truncmod", "select", "cast")
VALUES = hs.recursive(
    hs.sampled_from(LEAVES), lambda inner: hs.tuples(hs.sampled_from(NAMES), inner, inner), max_leaves=6
)
RELATIONS = hs.sampled_from(("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"))


def built(spec: Any, leaves: dict[str, Any]) -> Any:
    if isinstance(spec, int):
        return ops.const(spec, "int32")
    if isinstance(spec, str):
        return leaves[spec]
    name, left, right = spec
    a, b = built(left, leaves), built(right, leaves)
    if name == "select":
        return tir.Select(a < b, a, b + 1)
    if name == "cast":
        return ops.cast("int32", ops.min(ops.cast("int64", a), ops.cast("int64", b)))
    maker = getattr(ops, name)
    try:
        return maker(a, b)
    except (DiagnosticError, ZeroDivisionError):  # a literal zero as divisor, or literals whose sum does not fit
        return a


@settings(max_examples=100)
@given(RELATIONS, VALUES, VALUES)
def test_conditions_on_any_int32_mean_the_same(relation: str, left: Any, right: Any) -> None:
    """Guards every rule of the canonical form: in integers that do not wrap they hold, on data they need not."""

    def condition(a: Any, b: Any, i: Any) -> Any:
        leaves = {"a": a, "b": b, "a + i": a + i}
        return getattr(ops, relation)(built(left, leaves), built(right, leaves))

    func = kernel(condition)
    before = outcome(func)
    if before is not None:
        assert outcome(simplify(func)) == before, str(func)


SUMS = {
    "a + 1 > a": "B[i] = T.Select(A[i] + 1 > A[i], 1, 0)",
    "a - 5 >= b": "B[i] = T.Select(A[i] - 5 >= A[(i + 5) % 12], 1, 0)",
    "a * 2 // 2 == a": "B[i] = T.Select(A[i] == A[i] * 2 // 2, 1, 0)",
    "a * a >= 0": "B[i] = T.Select(A[i] * A[i] >= 0, 1, 0)",
    "a + 1 != a": "B[i] = 1",
    "a + b - a == b": "B[i] = 1",
    "a < a": "B[i] = 0",
    "a % 8 < 8": "B[i] = 1",
    "a > 4": "B[i] = T.Select(A[i] >= 5, 1, 0)",
}


@pytest.mark.parametrize("condition", SUMS)
def test_what_may_overflow_is_left_and_the_rest_is_simplified(condition: str) -> None:
    """Guards the line between the two: what holds of wrapped sums is still found."""
    made = simplify(kernel(lambda a, b, i: eval(condition, {"a": a, "b": b, "i": i})))
    assert last_line(made) == SUMS[condition]


def test_variables_that_hold_data_are_data() -> None:
    """Guards names: y = A[0] + 1 is not above x = A[0] where it wraps."""

    @T.prim_func
    def named(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
        for i in range(12):
            with T.LetStmt(A[0]) as x, T.LetStmt(x + 1) as y:
                B[i] = T.Select(y > x, 1, 0)

    assert outcome(simplify(named)) == outcome(named) == [0] * 12


def test_the_end_of_a_loop_that_is_read_from_memory_may_change_inside() -> None:
    """Guards what is known of loop variables: j < A[11] at the beginning says nothing of A[11] later."""

    @T.prim_func
    def shrinking(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
        for j in range(A[10]):
            A[10] = A[10] - 1
            if j < A[10]:
                B[j] = 1
            else:
                B[j] = 2

    assert outcome(simplify(shrinking)) == outcome(shrinking) == [1, 1, 2, 2, 2] + [0] * 7


def test_vectors_of_data_wrap() -> None:
    """Guards quotients of vectors: (a * 4 + b) // 4 is not a + b // 4 where the product wraps."""
    a, b, i = tir.decl_buffer((12,), "int32", "A"), tir.decl_buffer((12,), "int32", "B"), tir.Var("i", "int32")
    x, y = tir.Var("x", "handle"), tir.Var("y", "handle")
    sums = tir.Broadcast(a[i], 4) * tir.Broadcast(ops.const(4), 4) + tir.Broadcast(ops.const(8), 4)
    body = tir.For(
        i, 0, 3, tir.ForKind.SERIAL, tir.BufferStore(b, sums // tir.Broadcast(ops.const(4), 4), [tir.Ramp(i * 4, 1, 4)])
    )
    func = tir.PrimFunc([x, y], body, None, {x: a, y: b})
    assert outcome(simplify(func)) == outcome(func)


@pytest.mark.parametrize(("dtype", "amount"), [("int32", 30), ("int64", 61), ("int32", 31)])
def test_shifted_numbers_wrap(dtype: str, amount: int) -> None:
    """Found by random kernels: bits shifted out made a number that no integer of the dtype is, larger than all."""
    bits = tir.FloorMod(tir.IntImm(dtype, amount), tir.IntImm(dtype, 64))
    shifted = tir.shift_left(tir.IntImm(dtype, 7), bits)
    condition = tir.Max(shifted, tir.IntImm(dtype, -3)) > tir.IntImm(dtype, 5)
    found = Analyzer().simplify(condition)
    assert isinstance(found, tir.IntImm)
    assert found.value == evaluate(condition, {})
