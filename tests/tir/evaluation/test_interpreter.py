"""The oracle of TIR against NumPy, and its checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import expr as tir
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Var
from baton._src.tir.intrinsic_meanings import round_half_away
from baton._src.tir.text.parser import parse_text
from baton.script import tir as T
from tests.tir.programs import matmul_add


def test_a_reduction_with_a_symbolic_size_computes() -> None:
    """Guards blocks, init, allocation, and shapes read off the arguments."""
    func = matmul_add(Var("n", "int64"))
    rng = np.random.default_rng(0)
    for n in (0, 1, 3):
        a, b = rng.random((n, 8), "float32"), rng.random((8, 5), "float32")
        d = np.zeros((n, 5), "float32")
        run_prim_func(func, [a, b, d])
        np.testing.assert_allclose(d, a @ b + 1, rtol=1e-5)


def test_strided_arguments_are_written_back() -> None:
    """Guards arguments that are views."""
    func = parse_text("def f(A: T.Buffer((3,), 'int32')):\n    for i in range(3):\n        A[i] = A[i] + 1")
    base = np.zeros((3, 2), "int32")
    run_prim_func(func, [base[:, 1]])
    assert base.tolist() == [[0, 1], [0, 1], [0, 1]]


PROGRAM = """
def f(a: T.handle, B: T.Buffer((16,), "float32"), k: T.int32):
    n = T.int64()
    A = T.match_buffer(a, (n, T.int64(4)), "float32")
    for i in T.vectorized(4):
        B[i] = T.float32(1)
    B[T.Ramp(4, 1, 4)] = A[0, T.Ramp(T.int64(0), T.int64(1), 4)] * T.Broadcast(T.float32(2), 4)
    x: T.int32 = k + 1
    with T.allocate([4], "int32", "global") as p:
        q = T.Buffer((4,), "int32", data=p)
        q[0] = x
        B[8] = T.Cast("float32", q[0])
    with T.block("outer"):
        T.reads(A[0:n, 0:4])
        T.writes(B[9:16])
        s = T.int64()
        M = T.match_buffer(A[n - T.int64(1), 0:4], (4,), "float32", strides=(s,))
        B[9] = M[3] + T.Cast("float32", s)
        if k > 0 and A[0, 0] < T.float32(100):
            B[10] = T.float32(10)
        else:
            B[10] = T.float32(-10)
        while B[11] < T.float32(3):
            B[11] = B[11] + T.float32(1)
"""


def test_every_kind_of_statement_runs() -> None:
    """Guards vectors, lets, allocation with aliases, region matches, branches and while loops."""
    func = parse_text(PROGRAM)
    a, b = np.arange(8, dtype="float32").reshape(2, 4), np.zeros(16, "float32")
    run_prim_func(func, [a, b, 6])
    assert b.tolist() == [1, 1, 1, 1, 0, 2, 4, 6, 7, 8, 10, 3, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([np.zeros((2, 4), "float64"), np.zeros(16, "float32"), 1], "value-mismatch"),
        ([np.zeros((2, 5), "float32"), np.zeros(16, "float32"), 1], "value-mismatch"),
        ([np.zeros((2,), "float32"), np.zeros(16, "float32"), 1], "value-mismatch"),
        ([np.zeros((2, 4), "float32")], "argument-count"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: list[object], code: str) -> None:
    """Guards dtype, shape, rank and count."""
    with pytest.raises(DiagnosticError) as caught:
        run_prim_func(parse_text(PROGRAM), arguments)
    assert caught.value.code == code


@pytest.mark.parametrize("index", ["4", "0 - 1", "A[0] + 7"])
def test_accesses_outside_a_buffer_are_errors(index: str) -> None:
    """Guards bounds, negative indices included (NumPy would wrap them)."""
    func = parse_text(f"def f(A: T.Buffer((4,), 'int32')):\n    A[{index}] = 1")
    with pytest.raises(DiagnosticError) as caught:
        run_prim_func(func, [np.zeros(4, "int32")])
    assert caught.value.code == "tir-bounds"


def test_tested_positions() -> None:
    """Guards what kernels test beside indices: the interpreter, which checks every access, runs it too."""
    text = "T.index_within('int64', A[0], T.int64(3), '{0} is none of {1}', A[0])"
    func = parse_text(f"def f(A: T.Buffer((2,), 'int64')):\n    A[1] = {text}")
    memory = np.array([2, 0])
    run_prim_func(func, [memory])
    assert memory.tolist() == [2, 2]
    for outside in (-1, 3):
        with pytest.raises(DiagnosticError, match=f"{outside} is none of 3"):
            run_prim_func(func, [np.array([outside, 0])])


def test_fresh_memory_is_conspicuous() -> None:
    """Guards that a read before a write shows."""
    func = parse_text("def f(A: T.Buffer((1,), 'float32')):\n    B = T.alloc_buffer((1,))\n    A[0] = B[0]")
    a = np.zeros(1, "float32")
    run_prim_func(func, [a])
    assert np.isnan(a[0])


def test_kernels_can_be_called_with_pointers() -> None:
    """Guards native entries: pointer arithmetic and calls of other PrimFuncs, external functions and return values."""
    callee = parse_text("def g(A: T.Buffer((2,), 'float32')):\n    A[1] = A[0] + T.float32(1)")
    entry = parse_text(
        "def f(A: T.Buffer((4,), 'float32')):\n"
        "    T.evaluate(T.call_extern('void', 'g', T.ptr_add(A.data, 8)))\n"
        "    T.evaluate(T.ret(7))"
    )
    a = np.arange(4, dtype="float32")
    assert run_prim_func(entry, [a], {"g": callee}) == 7
    assert a.tolist() == [0, 1, 2, 3]


def test_a_failed_assertion_says_its_message() -> None:
    """Guards AssertStmt."""
    func = parse_text("def f(n: T.int32):\n    assert n > 3, 'too small'\n    T.evaluate(0)")
    with pytest.raises(DiagnosticError, match="too small"):
        run_prim_func(func, [2])


STRIDED = """
def main(a: T.handle, B: T.Buffer((3, 4), "float32")):
    s, t, o = T.int32(), T.int32(), T.int32()
    A = T.match_buffer(a, (3, 4), "float32", strides=[s, t], elem_offset=o, offset_factor=1)
    for i, j in T.grid(3, 4):
        B[i, j] = A[i, j] + T.Cast("float32", s * 100 + t)
        A[i, j] = T.float32(0)
"""


@pytest.mark.parametrize("slices", [np.s_[:3, :4], np.s_[::2, 1::3], np.s_[2::-1, :4]])
def test_strides_of_parameters_are_those_of_the_arrays(slices: Any) -> None:
    """Guards variables for strides and offsets, which had no value, and arrays written in place."""
    whole = np.arange(78, dtype="float32").reshape(6, 13)
    part, found = whole[slices][:3, :4], np.zeros((3, 4), "float32")
    if part.strides[0] < 0:
        with pytest.raises(DiagnosticError, match="A takes an array whose elements follow each other"):
            run_prim_func(parse_text(STRIDED), [part, found])
        return
    apart = [step // 4 for step in part.strides]
    expected = part + np.float32(apart[0] * 100 + apart[1])
    run_prim_func(parse_text(STRIDED), [part, found])
    np.testing.assert_array_equal(found, expected)
    assert not part.any()
    assert np.count_nonzero(whole) >= 78 - 12 - 1


def test_arrays_have_the_strides_that_a_parameter_states() -> None:
    """Guards rows that are further apart than they are long."""
    func = parse_text(
        'def main(a: T.handle, B: T.Buffer((3, 4), "float32")):\n'
        '    A = T.match_buffer(a, (3, 4), "float32", strides=[8, 1])\n'
        "    for i, j in T.grid(3, 4):\n"
        "        B[i, j] = A[i, j]"
    )
    whole, found = np.arange(24, dtype="float32").reshape(3, 8), np.zeros((3, 4), "float32")
    run_prim_func(func, [whole[:, :4], found])
    np.testing.assert_array_equal(found, whole[:, :4])
    with pytest.raises(DiagnosticError, match="stride 0 of A must be 8, got 4"):
        run_prim_func(func, [found.copy(), found])


@T.prim_func
def tiles(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
    for i in range(3):
        with T.block("tile"):
            vi = T.axis.spatial(3, i)
            T.reads(A[vi * 4 : T.min(vi * 4 + 4, 10)])
            T.writes(C[vi * 4 : T.min(vi * 4 + 4, 10)])
            m = T.int32()
            X = T.match_buffer(A[vi * 4 : T.min(vi * 4 + 4, 10)], (m,), offset_factor=1)
            Y = T.match_buffer(C[vi * 4 : T.min(vi * 4 + 4, 10)], (m,), offset_factor=1)
            for k in range(m):
                Y[k] = X[k] + T.float32(1)


def test_the_size_of_a_view_is_that_of_its_region_each_time() -> None:
    """Guards views of tiles, the last of which is shorter: all had the size of the first one."""
    a, c = np.arange(10, dtype="float32"), np.zeros(10, "float32")
    run_prim_func(tiles, [a, c])
    np.testing.assert_array_equal(c, a + 1)


def test_numbers_just_below_one_half_are_rounded_down() -> None:
    """Guards the meaning of `round` where x + 1/2 is no number of the dtype: just below one half, and above 2^23."""
    x = np.array([0.49999997, -0.49999997, 0.5, 2.5, 8388609, -3.2, np.inf, np.nan], "float32")
    np.testing.assert_array_equal(round_half_away(x), np.array([0, -0.0, 1, 3, 8388609, -3, np.inf, np.nan], "float32"))


def test_quotients_of_floats_are_rounded_down_after_the_division() -> None:
    """Guards FloorDiv of floats, which is floor(a / b): 1 / 0.1 is 10, though ten times 0.1 is more than 1."""
    x, y = Var("x", "float64"), Var("y", "float64")
    assert evaluate(tir.FloorDiv(x, y), {x: np.float64(1.0), y: np.float64(0.1)}) == 10


def test_the_largest_unsigned_numbers_become_small_floats() -> None:
    """Found by random kernels: bfloat16 takes no integer of Python beyond int64."""
    assert float(evaluate(tir.Cast("bfloat16", tir.IntImm("uint64", 1 << 63)), {})) == 2.0**63
    assert float(evaluate(tir.Cast("float32", tir.IntImm("uint64", (1 << 64) - 1)), {})) == 2.0**64


@pytest.mark.parametrize("word", ["T.Div", "T.Mod", "T.FloorDiv", "T.FloorMod"])
def test_whole_numbers_divided_by_zero_are_zero(word: str) -> None:
    """As in compiled kernels and NumPy; it was an error of Python."""
    func = parse_text(f"""
@T.prim_func
def main(a: T.Buffer((4,), "int32"), b: T.Buffer((4,), "int32")):
    for i in range(4):
        b[i] = {word}(7, a[i])
""")
    divided = np.zeros(4, "int32")
    run_prim_func(func, [np.array([0, 2, 0, 7], "int32"), divided])
    np.testing.assert_array_equal(divided != 0, [False, True, False, word in ("T.Div", "T.FloorDiv")])


@pytest.mark.parametrize("declared", ["T.Buffer", "T.decl_buffer"])
def test_buffers_follow_the_variables_that_place_them(declared: str) -> None:
    """Found by random kernels: a buffer that only names memory stayed where it was in the first iteration."""
    func = parse_text(f"""
@T.prim_func
def main(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
    for i in range(3):
        with T.block("row"):
            v = T.axis.spatial(3, 2 - i)
            row = {declared}((4,), "int32", data=B.data, elem_offset=v * 4)
            for j in range(4):
                row[j] = A[v * 4 + j]
""")
    found = np.zeros(12, "int32")
    run_prim_func(func, [np.arange(12, dtype="int32"), found])
    assert found.tolist() == list(range(12))
