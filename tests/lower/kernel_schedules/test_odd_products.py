"""Products at the edges between ways to compute them: few rows, few columns, tails, weights that lie (n, k)."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array

SIZES = [
    (5, 33, 16),
    (8, 64, 7),
    (12, 17, 32),
    (13, 40, 32),
    (17, 1, 48),
    (17, 2, 48),
    (16, 4, 9),
    (7, 3, 16),
    (1, 5, 33),
]


def product(m: int, n: int, k: int, transposed: bool) -> PrimFunc:
    """C[m, n] = A[m, k] B[k, n], or B[n, k]."""
    a, b = placeholder((m, k), "float32", "a"), placeholder((n, k) if transposed else (k, n), "float32", "b")
    r = reduce_axis((0, k), "r")
    c = compute((m, n), lambda i, j: reduction.sum(a[i, r] * (b[j, r] if transposed else b[r, j]), r), "c")
    return create_prim_func([a, b, c])


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("target", [HOST, Target("llvm -mcpu=x86-64 -num-cores=2")], ids=["host", "sse"])
def test_odd_products(sizes: tuple[int, int, int], transposed: bool, target: Target) -> None:
    """Guards each way, every access checked."""
    m, n, k = sizes
    func = product(m, n, k, transposed)
    left, right = random_array((m, k), "float32", 1), random_array((n, k) if transposed else (k, n), "float32", 2)
    out = np.zeros((m, n), "float32")
    assert call(build(decide(func, target).func, target, checked=True), func, left, right, out) is None
    wanted = left.astype("float64") @ (right.T if transposed else right).astype("float64")
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


def test_few_columns_are_dot_products() -> None:
    """Guards the choice: a tile of one column would be empty but for one lane."""
    decision = decide(product(64, 1, 64, False), HOST)
    assert decision.rule == "rows"
    assert ("matmul", "few columns: dot products") in decision.declined
