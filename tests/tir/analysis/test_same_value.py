"""Which expressions are the same computation: those of the same variables and buffers."""

from __future__ import annotations

from baton import tir
from baton._src.tir.analysis.same_value import same_value, same_values

M, N = (tir.Var(name, "int32") for name in "mn")
A, B = (tir.decl_buffer((8,), "int32", name) for name in "AB")


def test_buffers_and_variables_are_themselves() -> None:
    assert same_value(A[M] + 1, A[M] + 1)
    assert not same_value(A[M], B[M])
    assert not same_value(A[M] + B[M], B[M] + A[M])
    assert not same_value(M + 1, N + 1)


def test_what_is_bound_inside_has_any_name() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert same_value(tir.Let(x, A[N], x * x), tir.Let(y, A[N], y * y))


def test_sequences_have_as_many() -> None:
    assert same_values([M, A[M]], [M, A[M]])
    assert not same_values([M], [M, N])
