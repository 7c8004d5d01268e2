"""Vectors of every second, third .. element."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.codegen.llvm.addressing.strided import LARGEST_STRIDE
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import run_native

LANES = 16


def every(stride: int, dtype: str) -> PrimFunc:
    """out[i] = given[stride i], sixteen at a time; `given` ends with the last of them."""
    params = [tir.Var(name, "handle") for name in ("given", "out")]
    given = Buffer(tir.Var("g", "handle"), dtype, ((LANES - 1) * stride + 1,), name="given")
    out = Buffer(tir.Var("o", "handle"), dtype, (LANES,), name="out")
    i = tir.Var("i", "int64")
    store = st.BufferStore(out, tir.BufferLoad(given, (i * stride,)), (i,))
    body = st.For(i, 0, LANES, st.ForKind.VECTORIZED, store)
    return PrimFunc(params, body, buffer_map=dict(zip(params, (given, out), strict=True)))


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize("stride", range(1, LARGEST_STRIDE + 2))
@pytest.mark.parametrize("cpu", ["znver4", "x86-64"])
def test_every_nth_element(stride: int, dtype: str, cpu: str) -> None:
    """Guards which elements are picked, up to the very last, and that no gather does it up to the largest stride."""
    func, target = every(stride, dtype), Target(f"llvm -mcpu={cpu}")
    texts, _ = module_texts({"f": func}, target)
    assert ("gather" in texts["f"]) == (stride > LARGEST_STRIDE)
    given = np.arange((LANES - 1) * stride + 1).astype(dtype)
    out = np.zeros(LANES, dtype)
    assert run_native(func, given, out, target=Target("llvm") if cpu == "znver4" else target) is None
    np.testing.assert_array_equal(out, given[::stride])
