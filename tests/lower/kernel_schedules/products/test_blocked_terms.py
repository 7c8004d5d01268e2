"""Long sums in blocks of terms: all tiles go through a slice of one panel, or of several that take turns."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import panels, reading_panels
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array


def product(m: int | Var, n: int, k: int) -> PrimFunc:
    """A product with an epilogue that reads an operand of its size."""
    a, b, d = (placeholder(s, "float32", "x") for s in ((m, k), (k, n), (m, n)))
    r = reduce_axis((0, k), "r")
    c = compute((m, n), lambda i, j: reduction.sum(a[i, r] * b[r, j], r), "c")
    return create_prim_func([a, b, d, compute((m, n), lambda i, j: ops.max(c[i, j] + d[i, j], 0.0), "e")])


def check(m: int | Var, n: int, k: int, threads: int, rows: list[int]) -> None:
    """Compile for 16 registers, and compare with NumPy for some numbers of rows, accesses checked."""
    target = Target(f"llvm -mcpu=x86-64-v3 -num-cores={threads}")
    here = target if target.features <= HOST.features else HOST
    func = product(m, n, k)
    weight = packable_weight(func, target)
    assert weight is not None
    func = reading_panels(func, weight)
    scheduled = decide(func, target)
    assert scheduled.rule == "prepacked"
    assert "sums" in scheduled.func.script()  # the scratch between slices
    library, right = build(scheduled.func, here, checked=True), random_array((k, n), "float32", 2)
    for count in rows:
        left, more = random_array((count, k), "float32", 1), random_array((count, n), "float32", 3)
        out = np.full((count, n), np.nan, "float32")
        assert call(library, func, left, panels(right, weight.width), more, out) is None
        wanted = np.maximum(left.astype("float64") @ right + more, 0)
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("n", [48, 90])
def test_sums_of_one_panel(n: int, threads: int) -> None:
    """Guards sums that are kept between slices, where a panel is the last one and partial, too."""
    check(100, n, 1431, threads, [100])


@pytest.mark.parametrize(("n", "threads"), [(64, 1), (512, 1), (512, 2)])
def test_panels_take_turns_where_a_block_of_rows_is_far(n: int, threads: int) -> None:
    """Guards slices of several panels for any number of rows: fewer than a tile has, a block, several blocks."""
    check(Var("m", "int64"), n, 2113, threads, [1, 4, 5, 7, 63, 64, 131])
