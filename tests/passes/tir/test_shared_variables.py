"""Passes on functions in which several loops or definitions have one variable: what holds of one says nothing of
another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import tir
from baton._src.ir.module import IRModule
from baton._src.tir import expr
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.evaluation.interpreter import run_prim_func

X = tir.transform
V, N = expr.Var("i", "int32"), expr.Var("n", "int32")
B, POINTER = tir.decl_buffer((64,), "int32", "B"), expr.Var("b", "handle")


def store(value: Any, index: Any) -> st.Stmt:
    return st.BufferStore(B, ops.convert(value), (ops.convert(index),))


def loop(begin: int, extent: Any, kind: st.ForKind = st.ForKind.SERIAL, value: Any = None) -> st.Stmt:
    return st.For(V, begin, extent, kind, store(V + 7 if value is None else value, V + 7))


def outcome(func: Any) -> Any:
    found = np.zeros(64, "int32")
    run_prim_func(func, [found, 9])
    return found.tolist()


@pytest.mark.parametrize(
    ("lowering", "first", "second"),
    [
        (X.CommonSubexprElimTIR(), loop(0, 4), loop(0, 8)),
        (X.UnrollLoop(), loop(0, 4, st.ForKind.UNROLLED), loop(0, N)),
        (X.LowerOpaqueBlock(), loop(3, 1), loop(5, 1)),
        (X.NarrowDataType(8), loop(0, 4), loop(0, N)),
        (X.HoistExpression(), loop(0, 4, value=V), loop(0, N, value=N * 2)),
        (X.Simplify(), loop(0, 4), loop(0, N)),
    ],
)
def test_loops_that_share_a_variable_are_apart(lowering: Any, first: st.Stmt, second: st.Stmt) -> None:
    """Guards values, extents and bounds noted by variable: those of one loop were used for the other."""
    func = tir.PrimFunc([POINTER, N], st.SeqStmt((first, second)), None, {POINTER: B})
    made = lowering(IRModule({"main": func}))["main"]
    assert outcome(made) == outcome(func)


def test_definitions_that_share_a_variable_are_apart() -> None:
    """Guards `x = 3; ..; x = n * 2`, of which the second was taken to be 3, too."""
    x = expr.Var("x", "int32")
    body = st.SeqStmt((st.LetStmt(x, ops.const(3), store(x + 1, 0)), st.LetStmt(x, N * 2, store(x + 1, 1))))
    func = tir.PrimFunc([POINTER, N], body, None, {POINTER: B})
    for lowering in (X.Simplify(), X.HoistExpression(), X.CommonSubexprElimTIR()):
        assert outcome(lowering(IRModule({"main": func}))["main"])[:2] == [4, 19]
