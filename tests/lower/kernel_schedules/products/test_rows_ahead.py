"""Tiles of a product with a large A ask for the next tile's rows: for every line of them, and for none outside A."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.products import rows_ahead
from baton._src.lower.kernel_schedules.products.products import find_product
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.loops import i64
from baton._src.lower.kernel_schedules.shared.stages import Declined, read_kernel
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array
from tests.grids import every_value
from tests.lower.kernel_schedules.products.test_few_rows import with_packed
from tests.lower.kernel_schedules.products.test_odd_products import product


@pytest.fixture
def every_a_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_ahead, "CACHES", 0)


def transposed(m: int | Var, n: int, k: int) -> PrimFunc:
    """C[m, n] = A[k, m] B[k, n]."""
    a, b, r = placeholder((k, m), "float32", "a"), placeholder((k, n), "float32", "b"), reduce_axis((0, k), "r")
    return create_prim_func([a, b, compute((m, n), lambda i, j: reduction.sum(a[r, i] * b[r, j], r), "c")])


def asked_elements(func: PrimFunc, rows: int, first: int, steps: int) -> set[tuple[int, ...]]:
    """The elements of A that begin what a tile asks for."""
    kernel = read_kernel(func)
    assert not isinstance(kernel, Declined)
    matrix = find_product(kernel)
    assert matrix is not None
    ahead = rows_ahead.tile_prefetches(matrix, HOST, None).many
    assert ahead is not None
    beside = ahead(rows, i64(first), i64(0), i64(1))
    assert beside is not None
    found = set()
    for k in range(steps):
        (load,) = [n for n in post_order(beside(i64(k))) if isinstance(n, tir.BufferLoad)]
        places = [substitute_and_fold(index, {}) for index in load.indices]
        found.add(tuple(place.value for place in places if isinstance(place, tir.IntImm)))
    return found


@pytest.mark.parametrize("rows", [5, 8, 12, 16])
def test_every_line_of_the_next_rows_is_asked_for(rows: int) -> None:
    m, k = 64, 80
    asked = asked_elements(product(m, 48, k, False), rows, 8, k)
    lines = {element // 16 for (element,) in asked}
    assert lines == set(range((8 + rows) * k // 16, -(-(8 + 2 * rows) * k // 16)))


def test_the_last_tile_asks_for_nothing_outside() -> None:
    m, k = 30, 80
    assert all(element < m * k for (element,) in asked_elements(product(m, 48, k, False), 12, 24, k))
    assert asked_elements(transposed(m, 48, k), 12, 12, k) == {(term, m - 1) for term in range(k)}


@pytest.mark.usefixtures("every_a_is_large")
@pytest.mark.parametrize(("sizes", "packed"), every_value([(250, 40), (33, 260)], [False, True]))
def test_any_number_of_rows(sizes: tuple[int, int], packed: bool) -> None:
    """Guards the tall tiles of many rows, and where the even ones behind them begin."""
    n, k = sizes
    func, right = product(Var("m", "int64"), n, k, False), random_array((k, n), "float32", 2)
    func, given = with_packed(func, right, HOST) if packed else (func, right)
    library = build(decide(func, HOST).func, HOST, checked=True)
    for m in (*range(11, 39), 95, 96, 97, 107, 129, 193, 257):
        left, out = random_array((m, k), "float32", 1), np.zeros((m, n), "float32")
        assert call(library, func, left, given, out) is None
        np.testing.assert_allclose(out, left.astype("float64") @ right, rtol=1e-4, atol=2e-5 * k**0.5)


@pytest.mark.usefixtures("every_a_is_large")
@pytest.mark.parametrize("along_rows", [False, True])
@pytest.mark.parametrize("m", [13, 64, 101])
def test_known_rows(m: int, along_rows: bool) -> None:
    n, k = 70, 90
    func = transposed(m, n, k) if along_rows else product(m, n, k, False)
    left, right = random_array((m, k), "float32", 1), random_array((k, n), "float32", 2)
    given, out = np.ascontiguousarray(left.T) if along_rows else left, np.zeros((m, n), "float32")
    assert call(build(decide(func, HOST).func, HOST, checked=True), func, given, right, out) is None
    wanted = left.astype("float64") @ right
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-4)
