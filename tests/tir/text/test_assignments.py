"""Names in a kernel: several at once are computed before any stands for its own; declared buffers have memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source
from baton.script import tir as T


def run(kernel: Any, *arrays: np.ndarray) -> list[list[Any]]:
    held = [tvm.nd.array(a) for a in arrays]
    tvm.build(kernel, target="llvm")(*held)
    return [h.numpy().tolist() for h in held]


def next_two(buffer: Any) -> Any:
    return buffer[0] + 1, buffer[1] + 1


def row(buffer: Any, i: int, j: int) -> Any:
    return buffer[i, j, 0] + 1, buffer[i, j, 1] + 1


def test_values_do_not_follow_later_stores() -> None:
    """Found by swapping two elements: names stood for the loads, and the second load came after the first store."""

    @T.prim_func
    def swap(A: T.Buffer((2,), "int32")):
        a, b = A[0], A[1]
        A[0] = b
        A[1] = a

    @T.prim_func
    def swap_next(A: T.Buffer((2,), "int32")):
        a, b = next_two(A)
        A[0] = b
        A[1] = a

    assert run(swap, np.array([1, 2], "int32")) == [[2, 1]]
    assert run(swap_next, np.array([1, 2], "int32")) == [[3, 2]]


def test_names_trade_places() -> None:
    @T.prim_func
    def fibonacci(A: T.Buffer((2,), "int32")):
        a, b = A[0], A[1]
        a, b = b, a + b
        a, b = b, a + b
        A[0] = a
        A[1] = b

    assert run(fibonacci, np.array([1, 2], "int32")) == [[3, 5]]


def test_several_sizes_and_buffers_keep_their_names() -> None:
    """Guards printed kernels: sizes were called v, v_1, and buffers could not be matched two at a time."""

    @T.prim_func
    def transpose(a: T.handle, b: T.handle):
        n, m = T.int32(), T.int32()
        A, B = T.match_buffer(a, (n, m), "int32"), T.match_buffer(b, (m, n), "int32")
        for i, j in T.grid(n, m):
            B[j, i] = A[i, j]

    assert 'A = T.match_buffer(a, (n, m), "int32")' in transpose.script()
    assert run(transpose, np.array([[1, 2]], "int32"), np.zeros((2, 1), "int32"))[1] == [[1], [2]]
    tvm.ir.assert_structural_equal(from_source(transpose.script()), transpose)


@pytest.mark.parametrize("values", ["A[0], A[1], A[1]", "A[0]", "(A[0],)"])
def test_as_many_values_as_names(values: str) -> None:
    text = f"@T.prim_func\ndef f(A: T.Buffer((2,), 'int32')):\n    a, b = {values}\n    A[0] = a\n"
    with pytest.raises(DiagnosticError, match="2 names need as many values"):
        from_source(text)


def test_buffers_declared_without_memory_get_their_own() -> None:
    """As in TVM: with and without `with`; they were buffers that lie nowhere."""

    @T.prim_func
    def squares(A: T.Buffer((4,), "int32")):
        i = T.decl_buffer((1,), "int32")
        i[0] = 0
        with T.decl_buffer((2,), "int32", scope="local") as step:
            step[1] = 1
            while i[0] < 4:
                A[i[0]] = i[0] * i[0]
                i[0] = i[0] + step[1]

    assert run(squares, np.zeros(4, "int32")) == [[0, 1, 4, 9]]
    tvm.ir.assert_structural_equal(from_source(squares.script()), squares)


def test_values_in_tuples_do_not_follow_later_stores() -> None:
    """Found in review: the items of `pair` stood for the loads."""

    @T.prim_func
    def swap(A: T.Buffer((2,), "int32")):
        pair = (A[0], A[1])
        A[0] = pair[1]
        A[1] = pair[0]

    assert run(swap, np.array([1, 2], "int32")) == [[2, 1]]


HEAD = """
@T.prim_func
def f(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    x = A[0]
"""
ADDED_IN_A_LOOP = """
    for i in range(4):
        x = x + A[i]
    B[0] = x
"""
RUNNING_SUM = """
    for i in range(4):
        x += A[i]
        B[i] = x
"""
READ_BEFORE = """
    for i in range(4):
        B[i] = x
        if n > i:
            x = A[i]
"""
PARAMETER = """
    for i in range(4):
        n = n - 1
"""
CHOSEN = """
    if n > 0:
        x = A[1]
    elif n < -3:
        B[1] = x
    B[0] = x
"""
CHOSEN_IN_PYTHON = """
    if True:
        x = A[1]
    B[0] = x
"""


@pytest.mark.parametrize("body", [ADDED_IN_A_LOOP, RUNNING_SUM, READ_BEFORE, PARAMETER, CHOSEN, CHOSEN_IN_PYTHON])
def test_names_of_outside_do_not_change_in_loops_and_branches(body: str) -> None:
    """Found in review: sums stayed at their first element, as each iteration began with the value of outside."""
    with pytest.raises(DiagnosticError, match=r"T\.if_then_else"):
        from_source(HEAD + body)


def test_names_of_outside_may_be_used_anew_inside() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((4,), "int32"), n: T.int32):
        at = n - 1
        if n > 2:
            at = n - 2
            A[at] = 5
        else:
            A[at] = 6
        for i in range(2):
            at = i * 2
            at = at + 1
            A[at] = A[at] + 1

    array = tvm.nd.array(np.zeros(4, "int32"))
    built = tvm.build(kernel, target="llvm")
    built(array, 3)
    built(array, 1)
    assert array.numpy().tolist() == [6, 7, 0, 2]


def test_a_name_with_a_star_stands_for_the_rest() -> None:
    """As in Python, and as TVM reads it: such targets were refused."""

    @T.prim_func
    def kernel(A: T.Buffer((2, 3, 4), "int32"), out: T.Buffer((4,), "int32")):
        for i, *jk in T.grid(2, 3, 4):
            A[i, jk[0], jk[1]] = i * 100 + jk[0] * 10 + jk[1]
        first, *middle, last = row(A, 0, 0) + row(A, 1, 2)
        A[0, 0, 0] = 7
        A[1, 2, 0] = 7
        out[0] = first
        out[1] = middle[0]
        out[2] = middle[1]
        out[3] = last

    array = np.zeros((2, 3, 4), "int32")
    found, out = run(kernel, array, np.zeros(4, "int32"))
    assert found[1][2] == [7, 121, 122, 123]
    assert out == [1, 2, 121, 122]
    assert "for i, jk_0, jk_1 in T.grid(2, 3, 4)" in kernel.script()
    with pytest.raises(DiagnosticError, match="fewer than the names"):
        from_source("@T.prim_func\ndef f():\n    for i, *j, k in T.grid(4):\n        T.evaluate(0)")
    with pytest.raises(DiagnosticError, match="need several values"):
        from_source("@T.prim_func\ndef f(n: T.int32):\n    a, *b = n\n")
