"""Operands of scalar expressions: nodes without a meaning are refused where they are made, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import expr as tir
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.builders import scalar_functions as functions
from baton._src.tir.expr import FloatImm, IntImm, IterVar, Var
from baton._src.tir.stmt import BufferStore, SeqStmt
from baton._src.values.dtype import BOOL

I, L, F = Var("i", "int32"), Var("l", "int64"), Var("f", "float32")  # noqa: E741
B, H = Var("b", "bool"), Var("h", "handle")
FOUR = tir.Broadcast(I, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tir.Select(B, I, F), "values of one dtype, got int32 and float32"),
        (lambda: tir.Select(I, F, F), "condition of Select must be bool, got int32"),
        (lambda: tir.Select(tir.Broadcast(B, 2), FOUR, FOUR), "condition has 2 lanes, its values 4"),
        (lambda: tir.And(I, I), "And takes conditions"),
        (lambda: tir.Or(I, I), "Or takes conditions"),
        (lambda: tir.Not(I), "Not takes conditions"),
        (lambda: tir.Add(H, H), "Add takes numbers, got handle"),
        (lambda: tir.Let(I, F, I), "a variable of int32 to a value of float32"),
        (lambda: tir.Broadcast(FOUR, 4), "Broadcast takes one number, got int32x4"),
        (lambda: tir.Broadcast(tir.StringImm("text"), 4), "Broadcast takes one number, got handle"),
        (lambda: tir.Ramp(I, L, 4), "of one dtype, got int32 and int64"),
        (lambda: tir.Ramp(FOUR, FOUR, 4), "Ramp takes one number, got int32x4"),
        (lambda: tir.Cast("float32x4", I), "keeps the number of lanes"),
        (lambda: tir.Cast("float32", FOUR), "keeps the number of lanes"),
        (lambda: tir.Cast("float32", H), "converts numbers, not handle"),
        (lambda: tir.Shuffle((), (0,)), "at least one vector"),
        (lambda: tir.Shuffle((FOUR,), (4,)), "index 4 is outside of the 4 lanes"),
        (lambda: tir.Shuffle((FOUR, tir.Broadcast(F, 4)), (0, 5)), "one element type, got float32 and int32"),
        (lambda: IntImm("int32", 3.5), "3.5 is not an integer"),
        (lambda: IntImm("int32", "3"), "'3' is not an integer"),
        (lambda: FloatImm("int32", 3.5), "a floating literal cannot have dtype int32"),
        (lambda: IterVar(None, I, IterVar.ThreadIndex, "foo"), "no axis of threads 'foo'"),
        (lambda: functions.abs(H), "abs takes numbers, got handle"),
        (lambda: decl_buffer((4.5,)), "a size of buffer is an integer, not a float32"),
        (lambda: decl_buffer((-4,), name="A"), "a size of A cannot be -4"),
        (lambda: baton.te.placeholder((4.5,)), "a size must be an integer or a scalar expression, got 4.5"),
        (lambda: baton.te.reduce_axis(5), r"runs over \(begin, end\), not 5"),
        (lambda: SeqStmt((I,)), "SeqStmt takes statements, not Var"),
    ],
)
def test_what_has_no_meaning_is_refused(make: Callable[[], Any], message: str) -> None:
    """Guards each rule: such nodes reached LLVM, or were cut off without a word."""
    with pytest.raises(DiagnosticError, match=message):
        make()


def test_numbers_in_a_select_take_the_dtype_of_the_other_value() -> None:
    """Guards literals: 0 beside a float32 was an int32."""
    number: Any = 0
    assert tir.Select(B, F, number).false_value.dtype == "float32"
    assert tir.Select(B, number, F).dtype == "float32"
    assert tir.Select(number, F, F).condition.dtype == BOOL


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: tir.Call("float32", "tir.exp", [tir.Cast("int32", x)]), "tir.exp takes floats, got int32"),
        (lambda x: tir.Cast("float32", tir.Call("int32", "tir.exp", [x])), "tir.exp says int32"),
        (lambda x: tir.Call("float32", "tir.if_then_else", [x > 0, x, IntImm("int32", 1)]), "got float32 and int32"),
    ],
)
def test_calls_whose_dtypes_do_not_fit_are_found_before_code_is_made(make: Callable[[Any], Any], message: str) -> None:
    """Guards calls written out: LLVM refused them, in its own words."""
    a = baton.te.placeholder((4,), name="A")
    b = baton.te.compute((4,), lambda i: make(a[i]))
    with pytest.raises(DiagnosticError, match=message):
        baton.build(baton.te.create_prim_func([a, b]))


@pytest.mark.parametrize("exponent", ["int32", "int64", "float32"])
def test_ldexp_scales_by_powers_of_two(exponent: str) -> None:
    """Guards an intrinsic without native code, whose exponent is an integer."""
    a, n = baton.te.placeholder((9,), name="A"), baton.te.placeholder((9,), exponent, name="N")
    b = baton.te.compute((9,), lambda i: functions.ldexp(a[i], n[i]))
    x, k = np.linspace(-2, 2, 9, dtype="float32"), (np.arange(9) - 4).astype(exponent)
    out = baton.nd.empty((9,))
    baton.build(baton.te.create_prim_func([a, n, b]))(baton.nd.array(x), baton.nd.array(k), out)
    np.testing.assert_array_equal(out.numpy(), np.ldexp(x, k.astype("int32")))


def test_loads_and_stores_are_of_all_lanes() -> None:
    """The predicate of TVM's scalable vectors has its place among the arguments, and is refused."""
    buffer = decl_buffer((4,), "float32")
    load = tir.BufferLoad(buffer, [I], None, None)
    store = BufferStore(buffer, load, [I], None, None)
    assert load.predicate is None
    assert store.predicate is None
    for build in (lambda: buffer.vload([0], predicate=I < 2), lambda: buffer.vstore([0], load, I < 2)):
        with pytest.raises(DiagnosticError, match="have no predicate here"):
            build()
