"""The parameters of `tvm.tir`'s functions: their names, `span` in its place, and what is built by them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import baton
from baton import ir, te, tir
from baton.ir import SourceName
from baton.script import tir as T

A, B = tir.Var("a", "int32"), tir.Var("b", "int32")
PLACE = ir.Span(SourceName("kernel.py"), 3, 3, 1, 9)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("if_then_else", "cond t f span"),
        ("floordiv", "a b span"),
        ("add", "lhs rhs span"),
        ("subtract", "lhs rhs span"),
        ("multiply", "lhs rhs span"),
        ("ceildiv", "lhs rhs span"),
        ("power", "x y span"),
        ("bitwise_and", "x y span"),
        ("likely", "cond span"),
        ("assume", "cond"),
        ("tvm_access_ptr", "ptype data offset extent rw_mask"),
        ("address_of", "buffer_load span"),
        ("call_extern", "dtype func_name args span"),
        ("max_value", "dtype span"),
        ("reinterpret", "dtype value span"),
        ("ret", "val span"),
        ("const", "value dtype span"),
    ],
)
def test_parameters_are_named_as_in_tvm(name: str, parameters: str) -> None:
    word = getattr(tir, name)
    assert list(inspect.signature(word).parameters) == parameters.split()
    assert word.__name__ == name
    assert word.__doc__


def test_arguments_go_by_name() -> None:
    ir.assert_structural_equal(tir.ceildiv(rhs=B, lhs=A), tir.ceildiv(A, B))
    ir.assert_structural_equal(tir.if_then_else(cond=A > 0, t=A, f=0), tir.if_then_else(A > 0, A, 0))
    ir.assert_structural_equal(te.floordiv(a=A, b=B), A // B)
    with pytest.raises(TypeError, match="missing a required argument: 'f'"):
        tir.if_then_else(A > 0, A)


def test_pointers_of_annotations_and_layouts_of_layouts() -> None:
    """Guards arguments that scripts give as what they make anyway."""
    pointer = tir.Var("p", "handle")
    annotated = tir.tvm_access_ptr(tir.type_annotation("float32"), pointer, 0, 4, 1)
    ir.assert_structural_equal(annotated, tir.tvm_access_ptr("float32", pointer, 0, 4, 1))
    layout = tir.layout("NCHW8c")
    assert tir.layout(layout) is layout
    ir.assert_structural_equal(tir.generic.floordiv(lhs=A, rhs=B), A // B)


def test_results_have_the_place_that_is_given() -> None:
    assert tir.floordiv(A, B, PLACE).span is PLACE
    assert tir.all(A > 0, B > 0, span=PLACE).span is PLACE
    assert tir.call_extern("int32", "f", A, span=PLACE).span is PLACE
    assert tir.const(3, "int64", PLACE).span is PLACE


def test_variables_stay_themselves() -> None:
    """A copy with a place would be another variable."""
    assert tir.floordiv(A, 1, PLACE) is A
    assert tir.if_then_else(True, A, B, PLACE) is A


def test_pointers_are_moved_by_elements_of_their_type() -> None:
    """Two vectors of four numbers further, which were taken for two numbers."""

    @T.prim_func
    def tail(a: T.Buffer((16,), "float32"), b: T.Buffer((4,), "float32")) -> None:
        source = T.tvm_access_ptr(T.type_annotation("float32x4"), a.data, 2, 1, 1)
        T.evaluate(T.call_extern("handle", "memcpy", b.access_ptr("w"), source, 16))

    found = baton.nd.empty((4,), "float32")
    baton.build(tail, "llvm")(baton.nd.array(np.arange(16, dtype="float32")), found)
    assert found.numpy().tolist() == [8, 9, 10, 11]
