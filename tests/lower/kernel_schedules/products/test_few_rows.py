"""Few rows or columns: streams of weights with several sums, tiles for any number of rows, columns copied by squares.

Schedules are those of processors whose half vectors of 512 bits cost half, or as much as whole ones; they run here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.products import partial_sums
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.loops import constant
from baton._src.lower.pack_weights import panels, reading_panels
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.tir import stmt as st
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array
from tests.grids import every_pair, every_value
from tests.lower.kernel_schedules.products.test_odd_products import product

HALVES, WHOLE = Target("llvm -mcpu=znver4 -num-cores=2"), Target("llvm -mcpu=skylake-avx512 -num-cores=2")
BOTH = {"halves": HALVES, "whole": WHOLE}
both = pytest.mark.parametrize("target", BOTH.values(), ids=BOTH)


def with_packed(func: PrimFunc, right: Any, target: Target) -> tuple[PrimFunc, Any]:
    weight = packable_weight(func, target)
    assert weight is not None
    return reading_panels(func, weight), panels(right, weight.width)


def check(library: Any, func: PrimFunc, m: int, k: int, right: Any, given: Any) -> None:
    """The kernel's result of `m` rows; `given` is `right` as the kernel reads it."""
    left, out = random_array((m, k), "float32", 1), np.zeros((m, right.shape[1]), "float32")
    assert call(library, func, left, given, out) is None
    np.testing.assert_allclose(out, left.astype("float64") @ right, rtol=1e-4, atol=2e-5 * k**0.5)


@pytest.mark.parametrize(("sizes", "target"), every_value([(40, 1), (64, 7), (100, 13), (10, 100), (33, 24)], BOTH))
def test_packed_streams(sizes: tuple[int, int], target: Target) -> None:
    """Guards sums of every so many terms: fewer terms than sums, a rest of them, a last panel filled in part."""
    n, k = sizes
    right = random_array((k, n), "float32", 2)
    for m in range(1, 5):
        plain = product(m, n, k, False)
        if packable_weight(plain, target) is None:
            continue  # short sums, or columns that are dot products
        func, given = with_packed(plain, right, target)
        check(build(decide(func, target).func, HOST, checked=True), func, m, k, right, given)


def test_packed_streams_have_several_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the mechanism: one row of two vectors has four sums of each, not one that waits for itself."""

    def sums() -> set[int | None]:
        func, _ = with_packed(product(1, 64, 64, False), random_array((64, 64), "float32", 2), WHOLE)
        allocated = [n for n in post_order(decide(func, WHOLE).func.body) if isinstance(n, st.Allocate)]
        return {constant(size) for n in allocated for size in n.extents}

    assert sums() == {partial_sums.ACCUMULATORS // 2 * 32}
    monkeypatch.setattr(partial_sums, "ACCUMULATORS", 1)
    assert sums() == {32}


@pytest.mark.parametrize(
    ("sizes", "packed", "target"),
    every_pair([(40, 32), (96, 20), (250, 40), (80, 100), (50, 260)], [False, True], BOTH),
)
def test_any_number_of_rows(sizes: tuple[int, int], packed: bool, target: Target) -> None:
    """Guards heights of tiles that are left out because other ways take so few rows: every number must have one."""
    n, k = sizes
    func, right = product(Var("m", "int64"), n, k, False), random_array((k, n), "float32", 2)
    func, given = with_packed(func, right, target) if packed else (func, right)
    library = build(decide(func, target).func, HOST, checked=True)
    for m in (*range(31), 95, 96, 97, 107, 119, 121, 128, 129, 133, 193, 257, 258, 385):
        check(library, func, m, k, right, given)


@both
def test_rows_shared_between_threads(target: Target) -> None:
    """Guards blocks of rows of one panel, none of which may have a few rows only."""
    n, k = 32, 3000
    right = random_array((k, n), "float32", 2)
    func, given = with_packed(product(Var("m", "int64"), n, k, False), right, target)
    library = build(decide(func, target).func, HOST)
    with thread_pool().limited(2):
        for m in (4, 95, 96, 97, 98, 193, 194, 300):
            check(library, func, m, k, right, given)


@pytest.mark.parametrize(
    ("sizes", "transposed", "target"),
    every_pair([(300, 1, 100), (301, 1, 257), (130, 2, 300), (131, 2, 271), (2, 131, 271)], [False, True], BOTH),
)
def test_long_factors_are_one_stream(sizes: tuple[int, int, int], transposed: bool, target: Target) -> None:
    """Guards rows, or columns, that are read one after the other: the last tile, the last terms."""
    m, n, k = sizes
    func, right = product(m, n, k, transposed), random_array((k, n), "float32", 2)
    scheduled = decide(func, target).func
    if n < m or transposed:
        assert "apart" in scheduled.script()
    check(
        build(scheduled, HOST, checked=True), func, m, k, right, np.ascontiguousarray(right.T) if transposed else right
    )


@pytest.mark.parametrize(("m", "n", "k"), [(64, 9, 64), (80, 10, 71), (64, 11, 300), (120, 13, 257), (40, 25, 400)])
def test_columns_transposed_by_squares(m: int, n: int, k: int) -> None:
    """Guards squares that reach beyond the columns, and the last one, which overlaps."""
    func, right = product(m, n, k, False), random_array((k, n), "float32", 2)
    scheduled = decide(func, WHOLE).func
    assert "transposed" in scheduled.script()
    check(build(scheduled, HOST, checked=True), func, m, k, right, right)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_lines_of_weights_in_the_second_cache(dtype: str) -> None:
    """Guards one and two rows that read B line by line: a rest of terms and of columns, and more rows of the kernel for
    any number.
    """
    n, k = 203, 257
    right = random_array((k, n), dtype, 2)
    for m in (1, 2):
        func = product(m, n, k, False, dtype)
        scheduled = decide(func, WHOLE).func
        assert "sums" in scheduled.script()
        left, out = random_array((m, k), dtype, 1), np.zeros((m, n), "float32")
        assert call(build(scheduled, HOST, checked=True), func, left, right, out) is None
        np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-4)
    func = product(Var("m", "int64"), n, k, False, dtype)
    library = build(decide(func, WHOLE).func, HOST, checked=True)
    for m in range(9):
        left, out = random_array((m, k), dtype, 1), np.zeros((m, n), "float32")
        assert call(library, func, left, right, out) is None
        np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-4)


@both
@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("stays", [True, False], ids=["stays", "too large"])
def test_long_sums(others: int, stays: bool, target: Target) -> None:
    """Guards rows of a long factor: read one after the other where those they meet stay in L1, else several at once."""
    k = target.cpu.l1_bytes // 8 // others + (-40 if stays else 1)
    for m, n in ((others, 37), (37, others)):
        func = product(m, n, k, True)
        scheduled = decide(func, target)
        in_turn = any(isinstance(s, st.For) and s.loop_var.name == "at" for s in post_order(scheduled.func.body))
        assert scheduled.rule == "rows" if stays and m == 1 else in_turn == stays
        right = random_array((n, k), "float32", 2).T
        check(build(scheduled.func, HOST, checked=True), func, m, k, right, right.T.copy())
