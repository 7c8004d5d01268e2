"""Kernels with indices of another dtype compute the same, and are what they would be if written so."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.passes.tir.narrow_data_type import ForceNarrowIndexToInt32
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis, size_var, var
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.index_dtype import with_index_dtype
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script
from baton._src.values.dtype import INT32, INT64


def rows(override: str | None = None) -> PrimFunc:
    """C[i] = sum over k of A[i, k] + 1 + i"""
    n, m = var("n"), size_var("m")
    a, k = placeholder((n, m), name="A"), reduce_axis((0, m), "k")
    b = compute((n, m), lambda i, j: a[i, j] + 1.0 + i, name="B")
    c = compute((n,), lambda i: reduction.sum(b[i, k], axis=k), name="C")
    return create_prim_func([a, c], index_dtype_override=override)


def test_there_and_back() -> None:
    """Guards that every index is changed, and none is left in between."""
    wide = rows("int64")
    kinds = {n.loop_var.dtype for n in loops_of(wide.body)}
    assert kinds == {INT64}
    assert 'T.Cast("int' not in script(wide)
    narrow = ForceNarrowIndexToInt32()(IRModule({"main": wide}))["main"]
    assert_structural_equal(narrow, rows())
    assert with_index_dtype(narrow, INT32) is narrow


def loops_of(body: st.Stmt) -> list[st.For]:
    stack: list[st.Stmt] = [body]
    loops: list[st.For] = []
    while stack:
        match stack.pop():
            case st.SeqStmt(seq=seq):
                stack += seq
            case st.BlockRealize(block=block):
                stack.append(block.body)
            case st.For() as loop:
                loops.append(loop)
                stack.append(loop.body)
            case _:
                pass
    return loops


@pytest.mark.parametrize("dtype", [INT32, INT64])
def test_scheduled_kernels_compute_the_same(dtype: object) -> None:
    """Guards conditions of split loops and values made of indices."""
    schedule = Schedule(rows("int64" if dtype == INT32 else None))
    for block in ("B", "C"):
        schedule.split(schedule.get_loops(block)[1], [None, 5])
    before, after = np.zeros(5, "float32"), np.zeros(5, "float32")
    a = np.arange(35, dtype="float32").reshape(5, 7)
    run_prim_func(schedule.func, [a, before])
    run_prim_func(with_index_dtype(schedule.func, dtype), [a, after])
    np.testing.assert_array_equal(after, before)
    np.testing.assert_allclose(after, (a + 1 + np.arange(5)[:, None]).sum(1))


def test_data_keeps_its_dtype() -> None:
    """Guards integers in memory, as values and as indices, and scalar params."""
    text = """
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[A[vi] % 8] + vi + n
"""
    func = parse_text(text)
    changed = with_index_dtype(func, INT64)
    assert changed.params[2] is func.params[2]
    a, before, after = (np.arange(8, dtype="int32")[::-1].copy() for _ in range(3))
    run_prim_func(func, [a, before, 3])
    run_prim_func(changed, [a, after, 3])
    np.testing.assert_array_equal(after, before)


def test_sizes_that_do_not_fit() -> None:
    """Guards an error in place of an overflow."""
    a = placeholder((tir.IntImm("int64", 1 << 40),), name="A")
    func = create_prim_func([a, compute(a.shape, lambda i: a[i], name="B")])
    with pytest.raises(DiagnosticError, match="1099511627776 is no int32"):
        ForceNarrowIndexToInt32()(IRModule({"main": func}))


def test_sums_of_bytes_wrap_before_they_are_indices() -> None:
    """Found by random kernels: conditions and indices of int8 were computed in int64, where 100 + 100 is not -56."""
    text = """
@T.prim_func
def f(x: T.Buffer((4,), "int8"), table: T.Buffer((256,), "int32"), out: T.Buffer((4,), "int32")):
    for i in range(4):
        if T.int8(0) >= T.int8(-128) - T.int8(1):
            out[i] = -1
        else:
            out[i] = table[x[i] + x[i]]
"""
    kernel = parse_text(text)
    x, table = np.array([0, 1, 2, -128], "int8"), np.arange(256, dtype="int32") + 7
    for function in (kernel, with_index_dtype(kernel, INT64)):
        out = np.zeros(4, "int32")
        run_prim_func(function, [x, table, out])
        assert out.tolist() == [7, 9, 11, 7]


def test_truncated_data_stay_so() -> None:
    """Found by random kernels: in conditions and indices a cast of int64 to int32 was left out."""
    text = """
@T.prim_func
def f(x: T.Buffer((4,), "int64"), table: T.Buffer((8,), "int32"), out: T.Buffer((4,), "int32"), n: T.int64):
    for i in range(4):
        if i * 2 < T.Cast("int32", x[i]):
            out[i] = table[T.Cast("int32", x[i]) % 7] + T.Cast("int32", T.Cast("int64", T.Cast("int32", n)) == n)
"""
    kernel = parse_text(text)
    x, table = np.array([1 << 32, (1 << 33) + 9, -(1 << 40) + 5, (1 << 32) - 1]), np.arange(8, dtype="int32") + 100
    for function in (kernel, with_index_dtype(kernel, INT64)):
        out = np.zeros(4, "int32")
        run_prim_func(function, [x, table, out, 1 << 35])
        assert out.tolist() == [0, 102, 105, 0]
