"""save_json of scalar expressions: open variables, dtypes and lanes come back."""

from __future__ import annotations

import pytest

import baton as tvm
from baton import te, tir

X, Y, Z = te.var("x"), tir.Var("y", "float32"), tir.Var("z", "int32")


@pytest.mark.parametrize(
    "expr",
    [
        X + 1,
        tir.const(3, "int64"),
        tir.const(float("nan"), "float32"),
        tir.if_then_else(X > 0, X, -X),
        tir.exp(Y) * 2.0 + tir.Cast("float32", X // 3 % 5),
        tir.Select(tir.any(X < 3, X > 5), Y, Y + 1.0),
        tir.Let(Z, X + 1, Z * Z),
        tir.Ramp(X, 1, 4),
        tir.call_extern("float32", "sinf", Y),
    ],
)
def test_an_expression_comes_back(expr: tir.PrimExpr) -> None:
    found = tvm.ir.load_json(tvm.ir.save_json(expr))
    assert found.dtype == expr.dtype
    tvm.ir.assert_structural_equal(found, expr, map_free_vars=True)


def test_reads_of_memory_are_saved_with_their_kernel() -> None:
    with pytest.raises(tvm.error.DiagnosticError, match="save the module it belongs to"):
        tvm.ir.save_json(tir.decl_buffer((4,), "float32", "A")[X])
