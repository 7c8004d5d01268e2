"""HoistExpression and HoistIfThenElse: conditions and values that a loop does not change go before it."""

from __future__ import annotations

from typing import Any

import pytest

from baton import tir
from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import stmt as st
from baton.script import tir as T
from tests.passes.tir.test_steps import after, of

X = tir.transform
KINDS, LETS = X.HoistedConditionals, X.HoistedLetBindings


def hoisted(func: Any, **options: Any) -> Any:
    return after(func, X.HoistExpression(), **{"tir.HoistExpression": options})


@T.prim_func
def nested(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        for _j in range(3):
            if n > 4:
                B[i] = A[i] + T.float32(1)
            B[i] = B[i] * T.float32(2)


@T.prim_func
def consecutive(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        for j in range(3):
            if n > 4:
                B[i] = A[i] + T.Cast("float32", j)
            else:
                B[i] = A[i]


def test_a_condition_goes_before_all_loops() -> None:
    """Guards loops written out for both cases, and the outermost place; among statements a condition stays."""
    for step in (X.HoistExpression(), X.HoistIfThenElse(), X.HoistIfThenElse("basic")):
        made = after(consecutive, step)
        (condition,) = of(st.IfThenElse, made)
        assert made.body is condition
        assert [len(of(st.For, case)) for case in (condition.then_case, condition.else_case)] == [1, 1]
        (condition,) = of(st.IfThenElse, after(nested, step))
        assert isinstance(condition.then_case, st.BufferStore)
    with pytest.raises(DiagnosticError, match="'basic' or None"):
        X.HoistIfThenElse("advanced")(IRModule({"main": nested}))


@T.prim_func
def threads(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    t = T.launch_thread("threadIdx.x", n)
    for j in range(3):
        if t < 4 and n > 2:
            B[t] = A[t] + T.Cast("float32", j)


def test_conditions_on_threads_go_where_the_setting_says() -> None:
    """Guards the setting, which was not known, and its default: conditions on threads stay inside of loops."""
    assert isinstance(after(threads, X.HoistIfThenElse()).body.body, st.For)
    setting = {"tir.HoistIfThenElse": {"support_block_scope_hosting": True}}
    assert isinstance(after(threads, X.HoistIfThenElse(), **setting).body.body, st.IfThenElse)
    assert isinstance(after(threads, X.HoistIfThenElse("basic"), **setting).body.body, st.For)
    with pytest.raises(DiagnosticError, match="has no option"):
        after(threads, X.HoistIfThenElse(), **{"tir.HoistIfThenElse": {"hoist": True}})


@T.prim_func
def chosen(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        if i > 2 and n < 9:
            B[i] = T.if_then_else(n > 4, A[i], T.float32(0)) + T.Select(n > 5, T.float32(1), T.float32(2))


def test_kinds_of_conditions_are_chosen() -> None:
    """Guards expressions, parts of conditions, and that conditions on the loop stay."""
    assert after(chosen, X.HoistIfThenElse()).body.loop_var.name == "i"
    for kind, conditions in (
        (KINDS.Never, []),
        (KINDS.IfElseStmt, []),
        (KINDS.IfElseExpr, ["n >= 5"]),
        (KINDS.IfElseStmt.value | KINDS.BooleanExpression.value, ["n < 9"]),
        (KINDS.All, ["n < 9", "n >= 5"]),
    ):
        found = hoisted(chosen, hoisted_conditionals=kind)
        outside = [c for c in of(st.IfThenElse, found) if of_loop(c)]
        assert sorted({str(c.condition) for c in outside}) == sorted(conditions), kind


def of_loop(condition: st.IfThenElse) -> bool:
    """Whether a condition stands before a loop."""
    return isinstance(condition.then_case, (st.For, st.IfThenElse))


@T.prim_func
def with_values(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        twice: T.int32 = n * 2
        more: T.int32 = twice + 1
        other: T.int32 = n * 5
        own: T.float32 = A[i]
        if more > 7:
            B[i] = own + T.Cast("float32", other)


def before_the_loop(root: Any) -> list[str]:
    found = []
    while isinstance(root, (st.LetStmt, st.IfThenElse)):
        found.append(root.var.name if isinstance(root, st.LetStmt) else "if")
        root = root.body if isinstance(root, st.LetStmt) else root.then_case
    return found


def test_values_are_computed_before_the_loop() -> None:
    """Guards their order, those that a condition needs, and values of the loop's own that stay."""
    assert before_the_loop(hoisted(with_values).body) == ["twice", "more", "other", "if"]
    for lets, expected in (
        (LETS.Never, []),
        (LETS.RequiredByConditional, ["twice", "more", "if"]),
        (LETS.LetStmt, ["twice", "more", "other", "if"]),
        (LETS.LetExpr, []),
    ):
        assert before_the_loop(hoisted(with_values, hoisted_let_bindings=lets).body) == expected, lets
    assert before_the_loop(after(with_values, X.HoistIfThenElse()).body) == []  # no value goes, so no condition on it


def test_a_value_inside_an_expression_goes_before_the_loop() -> None:
    a, b = (tir.decl_buffer((7,), "float32", name) for name in "ab")
    n, x, i = tir.Var("n", "int32"), tir.Var("x", "int32"), tir.Var("i", "int32")
    store = tir.BufferStore(b, tir.Let(x, n + 3, tir.Cast("float32", x * x)), [i])
    params = {tir.Var(f"{buffer.name}_handle", "handle"): buffer for buffer in (a, b)}
    func = tir.PrimFunc([n, *params], tir.For(i, 0, 7, st.ForKind.SERIAL, store), None, params)
    made = X.HoistExpression()(IRModule({"main": func}))["main"]
    assert before_the_loop(made.body) == ["x"]
    assert isinstance(made.body.body.body.value, tir.Cast)


@T.prim_func
def that_fail(a: T.handle, b: T.handle, m: T.int32):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        if m != 0:
            if n // m > 3:
                B[i] = A[i]
            if A[0] > T.float32(1):
                B[i] = A[i]


def test_what_may_fail_or_change_stays() -> None:
    """Guards quotients that a condition keeps from zero, and elements that the loop may write."""
    with_block = X.HoistExpression()(IRModule({"main": that_fail}))["main"]
    assert str(with_block.body.condition) == "m != 0"
    assert isinstance(with_block.body.then_case, st.For)


def test_numbers_that_are_no_kinds() -> None:
    """Guards the diagnostic: it was an error inside of the pass."""
    with pytest.raises(DiagnosticError, match=r"hoisted_conditionals is a sum of IfElseStmt \(1\), .* not 31"):
        hoisted(chosen, hoisted_conditionals=31)
