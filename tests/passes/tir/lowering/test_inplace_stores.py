"""Results that take the memory of an operand: where each element is read before it is stored, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import verify_well_formed
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import from_source
from tests.passes.tir.test_steps import X

IF_LARGE = "if X[i] > T.float32(0.5):"
STEPS = {
    "for i in range(16):\n        B[i] = A[i] + T.float32(1)": True,
    "for i, j in T.grid(4, 4):\n        B[i * 4 + j] = A[i * 4 + j] * A[i * 4 + j]": True,
    "for i in range(16):\n        B[i] = T.if_then_else(X[i] > T.float32(0.5), A[i], X[i])": True,
    f"for i in range(16):\n        {IF_LARGE}\n            B[i] = A[i]\n        else:\n            B[i] = X[i]": False,
    "for k, i in T.grid(3, 16):\n        B[i] = A[i] + T.float32(1)": False,
    "for i in range(16):\n        B[i] = A[15 - i]": False,
    "for i in range(16):\n        B[i] = A[i] + A[i // 2]": False,
    "for i in range(16):\n        B[i] = A[T.Cast('int32', X[i] * T.float32(8))]": False,
    "for i in range(4):\n        B[i] = A[i]\n    for i in range(12):\n        B[i + 4] = A[i]": False,
}


@pytest.mark.parametrize("step", STEPS)
def test_results_in_the_memory_of_operands(step: str) -> None:
    """Guards StorageRewrite: which statements may, and that all mean what they did."""
    func = from_source(
        "@T.prim_func\n"
        "def main(X: T.Buffer((16,), 'float32'), Y: T.Buffer((16,), 'float32')):\n"
        "    A_data = T.allocate([16], 'float32', 'global')\n    A = T.Buffer((16,), data=A_data)\n"
        "    B_data = T.allocate([16], 'float32', 'global')\n    B = T.Buffer((16,), data=B_data)\n"
        "    for i in range(16):\n        A[i] = X[i] * T.float32(2)\n"
        f"    {step}\n"
        "    for i in range(16):\n        Y[i] = B[i]\n"
    )
    made = X.StorageRewrite()(IRModule({"main": func}))["main"]
    verify_well_formed(made)
    assert sum(isinstance(n, st.Allocate) for n in post_order(made.body)) == (1 if STEPS[step] else 2)
    x = np.random.default_rng(0).random(16, np.float32)
    before, after = np.zeros(16, np.float32), np.zeros(16, np.float32)
    run_prim_func(func, [x, before])
    run_prim_func(made, [x, after])
    np.testing.assert_array_equal(after, before)


def test_memory_that_is_free_is_taken() -> None:
    """Guards lifetimes: of three buffers that are turned round, two live at a time."""
    func = from_source(
        "@T.prim_func\n"
        "def main(X: T.Buffer((16,), 'float32'), Y: T.Buffer((16,), 'float32')):\n"
        + "".join(
            f"    {n}_data = T.allocate([16], 'float32', 'global')\n    {n} = T.Buffer((16,), data={n}_data)\n"
            for n in "ABC"
        )
        + "".join(f"    for i in range(16):\n        {b}[i] = {a}[15 - i]\n" for a, b in zip("XABC", "ABCY"))
    )
    made = X.StorageRewrite()(IRModule({"main": func}))["main"]
    assert sum(isinstance(n, st.Allocate) for n in post_order(made.body)) == 2
    x, y = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    run_prim_func(made, [x, y])
    np.testing.assert_array_equal(y, x)
