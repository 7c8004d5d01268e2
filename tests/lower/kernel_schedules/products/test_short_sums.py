"""Products of a few terms are written row after row: every layout, rows known or not, epilogues, threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.products.products import find_product
from baton._src.lower.kernel_schedules.products.short_sums import suits
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.inline import inline_elementwise
from baton._src.lower.kernel_schedules.shared.stages import Kernel, read_kernel
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array

TARGETS = [HOST, Target("llvm -num-cores=4"), Target("llvm -mcpu=x86-64")]


def product(m: Any, n: int, k: int, transposed: bool, dtype: str = "float32") -> PrimFunc:
    """relu(A[m, k] B[k, n] + bias) + R, with B as [n, k] if `transposed`."""
    a, b = placeholder((m, k), dtype, "a"), placeholder((n, k) if transposed else (k, n), dtype, "b")
    bias, rest = placeholder((n,), "float32", "bias"), placeholder((m, n), "float32", "rest")
    r = reduce_axis((0, k), "r")

    def term(i: Any, j: Any) -> Any:
        return ops.cast("float32", a[i, r]) * ops.cast("float32", b[j, r] if transposed else b[r, j])

    sums = compute((m, n), lambda i, j: reduction.sum(term(i, j), r), "sums")
    ended = compute((m, n), lambda i, j: ops.max(sums[i, j] + bias[j], 0.0) + rest[i, j], "c")
    return create_prim_func([a, b, bias, rest, ended])


def is_short(func: PrimFunc, target: Target) -> bool:
    kernel = read_kernel(func)
    assert isinstance(kernel, Kernel)
    matrix = find_product(inline_elementwise(kernel))
    return matrix is not None and suits(matrix, target)


@pytest.mark.parametrize("target", TARGETS, ids=["one", "threads", "sse"])
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 16, 1), (2, 17, 2), (5, 100, 3), (6, 32, 8), (7, 768, 5), (600, 512, 12)]
)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("symbolic", [False, True])
def test_short_sums(target: Target, m: int, n: int, k: int, transposed: bool, symbolic: bool) -> None:
    """Guards rows, pairs of rows and the odd one, columns beyond whole vectors, both layouts; accesses are checked."""
    func = product(Var("m", "int64") if symbolic else m, n, k, transposed)
    shapes = [(m, k), (n, k) if transposed else (k, n), (n,), (m, n)]
    given = [random_array(shape, "float32", seed) for seed, shape in enumerate(shapes)]
    left, right, bias, rest = (x.astype("float64") for x in given)
    out = np.zeros((m, n), "float32")
    assert is_short(func, target) or k == 12  # so many only where much is written, and that is known
    assert call(build(decide(func, target).func, target, checked=True), func, *given, out) is None
    wanted = np.maximum(left @ (right.T if transposed else right) + bias, 0) + rest
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-4)


def test_no_rows() -> None:
    """Guards pairs of no rows."""
    func = product(Var("m", "int64"), 32, 4, False)
    given = [random_array(shape, "float32", 1) for shape in [(0, 4), (4, 32), (32,), (0, 32)]]
    assert call(build(decide(func, HOST).func, HOST, checked=True), func, *given, np.zeros((0, 32), "float32")) is None


def test_halves_are_converted() -> None:
    """Guards factors that are stored in another dtype than they are multiplied in."""
    func = product(9, 40, 3, True, "float16")
    given = [random_array(shape, "float32", n) for n, shape in enumerate([(9, 3), (40, 3), (40,), (9, 40)])]
    given[:2] = [x.astype("float16") for x in given[:2]]
    out = np.zeros((9, 40), "float32")
    assert is_short(func, HOST)
    assert call(build(decide(func, HOST).func, HOST, checked=True), func, *given, out) is None
    left, right, bias, rest = (x.astype("float64") for x in given)
    np.testing.assert_allclose(out, np.maximum(left @ right.T + bias, 0) + rest, rtol=1e-4, atol=1e-4)


def test_weights_of_short_sums_are_not_packed() -> None:
    """Guards against panels, whose results are written a piece of each row at a time."""
    assert packable_weight(product(64, 128, 4, False), HOST) is None
    assert packable_weight(product(64, 128, 64, False), HOST) is not None
