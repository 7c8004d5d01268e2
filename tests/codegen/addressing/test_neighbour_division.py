"""Quotients and remainders of neighbouring numbers by constants."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import module_texts
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from tests.codegen.native_run import HOST, OLD, loops, random_array, run_native

ROWS, COLUMNS = 5, 173
ROW_THEN_VECTORS = [st.ForKind.SERIAL, st.ForKind.VECTORIZED]


@pytest.mark.parametrize("by", [3, 6, 7, 24, 100, 999, 40000, 65519, 65520, 65535, 100003])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("target", [HOST, OLD], ids=["host", "sse"])
@pytest.mark.parametrize(("made", "wanted"), [(ops.floordiv, np.floor_divide), (ops.floormod, np.mod)])
def test_as_numpy_divides(by: int, dtype: str, target: Any, made: Any, wanted: Any) -> None:
    """Guards numbers below zero, rests that nearly fill 16 bits, and divisors that do not fit in them."""
    starts = placeholder((ROWS,), dtype, "starts")
    found = compute((ROWS, COLUMNS), lambda i, j: made(starts[i] + ops.cast(dtype, j), by), "found")
    func = loops(create_prim_func([starts, found]), ROW_THEN_VECTORS)
    given, out = np.array([0, 10**9, -by - 7, by - 1, -(10**9)], dtype), np.zeros((ROWS, COLUMNS), dtype)
    assert run_native(func, given, out, target=target) is None
    np.testing.assert_array_equal(out, wanted(given[:, None] + np.arange(COLUMNS, dtype=dtype), by))


def test_no_vector_of_64_bits_is_divided() -> None:
    """Guards that what loads and values share, places by 7, takes one scalar division and one of 16 bits."""
    x = placeholder((ROWS, COLUMNS), "float32", "x")
    found = compute((ROWS, COLUMNS), lambda i, j: x[i, (j + i) // 7] * ops.cast("float32", (j + i) % 7), "found")
    func = loops(create_prim_func([x, found]), ROW_THEN_VECTORS)
    text = module_texts({"f": func}, HOST)[0]["f"]
    assert re.search(r"div <\d+ x i(32|64)>", text) is None
    given, out = random_array((ROWS, COLUMNS), "float32"), np.zeros((ROWS, COLUMNS), "float32")
    assert run_native(func, given, out) is None
    i, j = np.indices((ROWS, COLUMNS))
    np.testing.assert_array_equal(out, given[i, (i + j) // 7] * ((i + j) % 7).astype("float32"))
