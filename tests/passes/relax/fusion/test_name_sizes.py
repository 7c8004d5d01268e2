"""NameSizes: kernels that differ in how their sizes are computed become one; what they may use of sizes stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.passes.relax.fusion.name_sizes import NameSizes
from baton._src.passes.shared.named_sizes import with_named_sizes
from baton._src.tir.kernel_digest import kernel_digest

TwoResolutions: Any = from_source(
    """
@I.ir_module
class TwoResolutions:
    @T.prim_func(private=True)
    def half(a: T.handle, b: T.handle, n: T.int64):
        A = T.match_buffer(a, (n // 2 + 1, 8))
        B = T.match_buffer(b, (n // 2 + 1, 8))
        for i, j in T.grid(n // 2 + 1, 8):
            with T.block("negative"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.float32(0) - A[vi, vj]

    @T.prim_func(private=True)
    def quarter(a: T.handle, b: T.handle, n: T.int64):
        A = T.match_buffer(a, ((n // 2 + 1) // 2, 8))
        B = T.match_buffer(b, ((n // 2 + 1) // 2, 8))
        for i, j in T.grid((n // 2 + 1) // 2, 8):
            with T.block("negative"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.float32(0) - A[vi, vj]

    @T.prim_func(private=True)
    def strided(a: T.handle, b: T.handle, n: T.int64):
        A = T.match_buffer(a, (n // 2 + 1, 8))
        B = T.match_buffer(b, ((n // 2 + 1) // 2, 8))
        for i, j in T.grid((n // 2 + 1) // 2, 8):
            with T.block("strided"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi * 2, vj]

    @R.function
    def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("n // 2 + 1", 8), "float32")) -> R.Tensor(
        ("(n // 2 + 1) // 2", 8), "float32"
    ):
        n = T.int64()
        cls = TwoResolutions
        with R.dataflow():
            a = R.call_tir(cls.half, (y,), R.Tensor((n // 2 + 1, 8), "float32"), tir_vars=R.shape([n]))
            b = R.call_tir(cls.strided, (a,), R.Tensor(((n // 2 + 1) // 2, 8), "float32"), tir_vars=R.shape([n]))
            c = R.call_tir(cls.quarter, (b,), R.Tensor(((n // 2 + 1) // 2, 8), "float32"), tir_vars=R.shape([n]))
            R.output(c)
        return c
    """
)


def test_kernels_of_other_resolutions_are_equal() -> None:
    named = NameSizes()(TwoResolutions)
    half, quarter = (kernel_digest(named[name]) for name in ("half", "quarter"))
    assert half is not None
    assert half == quarter
    assert kernel_digest(TwoResolutions["half"]) != kernel_digest(TwoResolutions["quarter"])
    assert len(named["half"].params) == 2, "the size is read off the tensors"


@pytest.mark.parametrize("n", [2, 3, 12, 31])
def test_results(n: int) -> None:
    y = np.arange((n // 2 + 1) * 8, dtype="float32").reshape(-1, 8)
    (found,) = baton.compile(TwoResolutions).run({"x": np.zeros(n, "float32"), "y": y})
    np.testing.assert_array_equal(found, y[: (n // 2 + 1) // 2 * 2 : 2])


def test_sizes_stay_in_proportion() -> None:
    """A kernel that reads every second row knows that there are twice as many."""
    strided = NameSizes()(TwoResolutions)["strided"]
    source, result = (buffer.shape[0] for buffer in strided.buffer_map.values())
    assert str(result) == f"{source} // T.int64(2)"
    assert strided is not TwoResolutions["strided"]


def _copying(size: str) -> Any:
    """A kernel that copies a vector whose length is computed from `n`."""
    return from_source(
        f"""
@T.prim_func(private=True)
def kernel(a: T.handle, b: T.handle, n: T.int64):
    A = T.match_buffer(a, ({size},))
    B = T.match_buffer(b, ({size},))
    for i in range({size}):
        with T.block("copy"):
            vi = T.axis.spatial({size}, i)
            B[vi] = A[vi]
"""
    )


def test_multiples_of_vectors_stay_multiples() -> None:
    found = with_named_sizes(_copying("n * 48"))
    assert found is not None
    a, b = (buffer.shape[0] for buffer in found.function.buffer_map.values())
    assert str(a) == str(b) == "size * T.int64(16)"
    assert [str(e) for e in found.added] == ["n * T.int64(3)"]
    assert found.kept == ()


@pytest.mark.parametrize("size", ["T.min(n, T.int64(8))", "T.max(n, T.int64(1))", "n % 4"])
def test_bounds_are_not_forgotten(size: str) -> None:
    assert with_named_sizes(_copying(size)) is None


def test_a_size_that_is_shown_stays() -> None:
    assert with_named_sizes(_copying("n")) is None
