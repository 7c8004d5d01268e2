"""Vectors of which neighbouring lanes load the same element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import stmt as st
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType
from tests.codegen.native_run import loops, random_array, run_native

ROWS, COLUMNS = 3, 192


def kernel(dtype: str, value: Any, width: int) -> PrimFunc:
    x = placeholder((ROWS, width), dtype, "x")
    func = create_prim_func([x, compute((ROWS, COLUMNS), lambda i, j: value(x, i, j), "y")])
    return loops(func, [st.ForKind.SERIAL, st.ForKind.VECTORIZED])


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float16", "bfloat16", "int64"])
@pytest.mark.parametrize("times", [2, 3, 4, 8, 16, 32, 48, 64])
@pytest.mark.parametrize("cpu", ["znver4", "x86-64"])
def test_repeated_elements(times: int, dtype: str, cpu: str) -> None:
    """Guards that each element is where it belongs, up to the last one, and that no gather does it."""
    width, target = COLUMNS // times, Target(f"llvm -mcpu={cpu}")
    func = kernel(dtype, lambda x, i, j: x[i, j // times], width)
    assert "gather" not in module_texts({"f": func}, target)[0]["f"]
    given, out = random_array((ROWS, width), dtype), np.zeros((ROWS, COLUMNS), DataType(dtype).numpy)
    assert run_native(func, given, out, target=Target("llvm") if cpu == "znver4" else target) is None
    np.testing.assert_array_equal(out, given.repeat(times, 1))


def test_from_within_a_repetition() -> None:
    """Guards that elements are right if a vector begins within a repetition, or moves on in between."""
    func = kernel("float32", lambda x, i, j: x[i, (j + 3) // 4] + x[i, (j + 8) // 4 + 1] * x[i, j // 4 + i], 60)
    given, out = random_array((ROWS, 60), "float32"), np.zeros((ROWS, COLUMNS), "float32")
    assert run_native(func, given, out) is None
    i, j = np.indices((ROWS, COLUMNS))
    given = given.astype("float64")  # the sum and its product are rounded once
    expected = given[i, (j + 3) // 4] + given[i, (j + 8) // 4 + 1] * given[i, j // 4 + i]
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-6)


def test_places_that_wrap_within_a_vector() -> None:
    """A run goes on where a place of 8 bits begins again: (j // 4 + 2) wraps after two of the elements."""
    x, size = placeholder((256,), "float32", "x"), IntImm("int64", 1200)
    y = compute((size,), lambda j: x[(j // 4 + 2).astype("int8").astype("int64") + 128], "y")
    func = loops(create_prim_func([x, y]), [st.ForKind.VECTORIZED])
    given, out = random_array((256,), "float32"), np.zeros(1200, "float32")
    assert run_native(func, given, out) is None
    np.testing.assert_array_equal(out, given[(np.arange(1200) // 4 + 2).astype("int8").astype("int64") + 128])


def test_some_lanes_only() -> None:
    """Guards that nothing is loaded for lanes that a condition leaves out: here the row ends before them."""
    func = kernel("float32", lambda x, i, j: if_then_else(j < 101, x[i, j // 2], -1.0), 51)
    given, out = random_array((ROWS, 51), "float32"), np.zeros((ROWS, COLUMNS), "float32")
    assert run_native(func, given, out, checked=True) is None
    np.testing.assert_array_equal(out, np.pad(given.repeat(2, 1)[:, :101], ((0, 0), (0, 91)), constant_values=-1))
