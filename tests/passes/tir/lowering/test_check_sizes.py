"""Indices of loops in kernels of open sizes: tested before anything runs, where they are used, or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.tir.build import build
from baton._src.passes.tir.lowering.check_sizes import size_tests
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.parser import parse_text
from baton._src.values.tensor import array

HEAD = """
def f(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (m,), "float32")
"""


def kernel(body: str) -> PrimFunc:
    """From A of n elements to B of m."""
    return parse_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))


def run(body: str, n: int, m: int) -> list[float]:
    """What the compiled kernel makes of 1, 2, ... n in a B of m zeros."""
    module: Any = build(kernel(body), target="llvm")
    found = array(np.zeros(m, "float32"))
    module(array(np.arange(1, n + 1, dtype="float32")), found)
    return list(found.numpy().tolist())


COPY = "for i in range(m):\n    B[i] = A[i]"
REVERSED = "for i in range(m):\n    B[i] = A[m - 1 - i]"
SUM = """
for i, k in T.grid(m, m):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vk + 1]
"""
TRIANGLE = "for i in range(n):\n    for j in range(i):\n        B[j] = A[i]"
GUARDED = "for i in range(m):\n    B[i] = T.if_then_else(i * i < 9, A[i], T.float32(0))"


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(n):\n    if i < m:\n        B[i] = A[i]",
        "for i in range(m):\n    B[i] = T.if_then_else(i < n, A[i], T.float32(0))",
        "for i in range(T.min(n, m)):\n    B[i] = A[i]",
        "for i in range(n // 2):\n    A[i] = A[2 * i + 1]",
        "for i in range(n - 3):\n    A[i] = A[i + 3]",
        "for i in range(n):\n    A[i] = A[n - 1 - i]",
        "for i, j in T.grid(n // 4, 4):\n    A[i * 4 + j] = T.float32(0)",
    ],
)
def test_what_is_certain_costs_nothing(body: str) -> None:
    """Guards that nothing is tested where loops and conditions show that indices are in range."""
    assert not size_tests(kernel(body))


def test_kernels_of_numbers_are_not_asked() -> None:
    func = parse_text(
        "def f(A: T.Buffer((4,), 'float32')):\n    for i in range(4):\n        A[i % 3 * 2 % 5] = T.float32(0)"
    )
    assert not size_tests(func)


BEHIND = "for i in range(m):\n    B[i] = A[T.min(n, 2) + i]"
STRETCHED = "for i in range(m):\n    B[i] = A[T.Select(n == 1, 0, i)]"


@pytest.mark.parametrize("body", [COPY, REVERSED, SUM, BEHIND, STRETCHED])
def test_loops_are_tested_once(body: str) -> None:
    """Guards that inner loops are left alone: what is tested stands in front of them."""
    tests = size_tests(kernel(body))
    assert len(tests.first) == 1
    assert not tests.inside


@pytest.mark.parametrize("body", [TRIANGLE, GUARDED])
def test_what_only_an_iteration_knows_is_tested_there(body: str) -> None:
    tests = size_tests(kernel(body))
    assert not tests.first
    assert len(tests.inside) == 1


@pytest.mark.parametrize(
    ("body", "n", "m", "wanted"),
    [
        (COPY, 3, 2, [1, 2]),
        (COPY, 3, 0, []),
        (REVERSED, 3, 3, [3, 2, 1]),
        (REVERSED, 4, 2, [2, 1]),
        (SUM, 3, 2, [5, 5]),
        (SUM, 0, 0, []),
        (TRIANGLE, 4, 3, [4, 4, 4]),
        (GUARDED, 3, 7, [1, 2, 3, 0, 0, 0, 0]),
        (GUARDED, 1, 1, [1]),
        (BEHIND, 5, 3, [3, 4, 5]),
        (BEHIND, 0, 0, []),
        (STRETCHED, 1, 3, [1, 1, 1]),
        (STRETCHED, 3, 3, [1, 2, 3]),
        (STRETCHED, 0, 0, []),
    ],
)
def test_what_is_in_range_runs(body: str, n: int, m: int, wanted: list[float]) -> None:
    """Guards that tests refuse nothing that is right: conditions are respected, and loops that do not run."""
    assert run(body, n, m) == wanted


@pytest.mark.parametrize(
    ("body", "n", "m", "index", "place"),
    [
        (COPY, 3, 1 << 22, (1 << 22) - 1, "operand 0, which has 3"),
        (REVERSED, 3, 4, 3, "operand 0, which has 3"),
        (SUM, 3, 3, 3, "operand 0, which has 3"),
        (TRIANGLE, 5, 3, 3, "the result, which has 3"),
        (GUARDED, 2, 7, 2, "operand 0, which has 2"),
        (BEHIND, 3, 3, 4, "operand 0, which has 3"),
        (STRETCHED, 2, 7, 6, "operand 0, which has 2"),
        ("for i in range(n):\n    B[i] = A[i]", 1 << 22, 3, (1 << 22) - 1, "the result, which has 3"),
        ("for i in range(n):\n    A[i] = A[i + m - 2]", 3, 1, -1, "the result, which has 3"),
    ],
)
def test_what_is_outside_is_a_fault(body: str, n: int, m: int, index: int, place: str) -> None:
    """Guards that kernels of unrelated sizes read and write no memory of others: the process ended."""
    with pytest.raises(DiagnosticError, match=f"index {index} is out of range for axis 0 of {place} elements"):
        run(body, n, m)


def test_what_is_pointed_at_is_not_read() -> None:
    """Guards hints to fetch what comes next: the last one points beyond."""
    body = """
for i in range(m):
    T.evaluate(T.prefetch(T.address_of(A[i * i + 16]), 0, 3, 1))
    if i * i < n:
        B[i] = A[i * i]
"""
    assert run(body, 5, 3) == [1, 2, 5]


def test_memory_of_negative_size() -> None:
    """Guards that a tensor inside of a kernel has a size: a window larger than an open dim gave sums of nothing."""
    body = """
C = T.alloc_buffer((n - 4,), "float32")
for i in range(n - 4):
    with T.block("C"):
        v = T.axis.spatial(n - 4, i)
        C[v] = A[v] + A[v + 4]
for i, k in T.grid(m, n - 4):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + C[vk]
"""
    assert run(body, 6, 1) == [14]
    assert run(body, 4, 1) == [0]
    for n in range(4):
        with pytest.raises(DiagnosticError, match=f"axis 0 of an intermediate result has the negative size {n - 4}"):
            run(body, n, 1)
