"""Dot products of few rows in blocks of k: rests of every size, any number of rows, what stands around them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array
from tests.lower.kernel_schedules.products.test_odd_products import product

WIDE, NARROW = Target("llvm -mcpu=znver4 -num-cores=2"), Target("llvm -mcpu=haswell -num-cores=2")
both = pytest.mark.parametrize("target", [WIDE, NARROW], ids=["32 registers", "16 registers"])


def built(func: PrimFunc, target: Target, checked: bool = True) -> Any:
    scheduled = decide(func, target).func
    assert "parts" in {n.buffer_var.name for n in post_order(scheduled.body) if isinstance(n, st.Allocate)}
    return build(scheduled, HOST, checked=checked)


def agree(library: Any, func: PrimFunc, m: int, right: np.ndarray) -> None:
    """`m` rows; `right` is (n, k)."""
    left, out = random_array((m, right.shape[1]), "float32", 1), np.zeros((m, right.shape[0]), "float32")
    assert call(library, func, left, right, out) is None
    expected = left.astype("float64") @ right.T.astype("float64")
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=2e-5 * right.shape[1] ** 0.5)


@both
@pytest.mark.parametrize(
    ("m", "n", "k"), [(4, 516, 1040), (7, 508, 1040), (12, 132, 2064), (13, 516, 528), (32, 68, 4112)]
)
def test_rests(m: int, n: int, k: int, target: Target) -> None:
    """Guards the last block of columns and of k, and the last tile of rows."""
    func, right = product(m, n, k, True), random_array((n, k), "float32", 2)
    agree(built(func, target), func, m, right)


@both
def test_any_number_of_rows(target: Target) -> None:
    """Guards every number of rows that the kernel may take this way, and those beside them."""
    func, right = product(Var("m", "int64"), 516, 1040, True), random_array((516, 1040), "float32", 2)
    library = built(func, target)
    for m in (*range(9), 11, 12, 13, 18, 31, 32, 33):
        agree(library, func, m, right)


def test_two_threads() -> None:
    """Guards that each thread has rows and sums of its own."""
    func, right = product(9, 1028, 1040, True), random_array((1028, 1040), "float32", 2)
    library = built(func, WIDE, checked=False)
    with thread_pool().limited(2):
        for _ in range(20):
            agree(library, func, 9, right)


@both
def test_what_stands_around(target: Target) -> None:
    """Guards batches, weights of half precision, rows that are computed on the way, and results that go on."""
    b, m, n, k = 2, 5, 516, 1056
    x, w = placeholder((b, m, k), "float32", "x"), placeholder((b, n, k), "float16", "w")
    bias, r = placeholder((n,), "float32", "bias"), reduce_axis((0, k), "r")
    twice = compute((b, m, k), lambda h, i, j: x[h, i, j] * ops.const(2, "float32"), "twice")
    c = compute((b, m, n), lambda h, i, j: reduction.sum(twice[h, i, r] * ops.cast("float32", w[h, j, r]), r), "c")
    zero = tir.FloatImm("float32", 0.0)
    out = compute((b, m, n), lambda h, i, j: ops.max(c[h, i, j] + bias[j], zero), "out")
    func = create_prim_func([x, w, bias, out])
    arrays = [
        random_array(s, d, n)
        for n, (s, d) in enumerate([((b, m, k), "float32"), ((b, n, k), "float16"), ((n,), "float32")])
    ]
    found = np.zeros((b, m, n), "float32")
    assert call(built(func, target), func, *arrays, found) is None
    left, right, added = (a.astype("float64") for a in arrays)
    np.testing.assert_allclose(found, np.maximum(2 * left @ right.transpose(0, 2, 1) + added, 0), rtol=1e-4, atol=2e-3)
