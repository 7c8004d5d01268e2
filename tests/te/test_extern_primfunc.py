"""te.extern_primfunc: kernels among computations, used once and twice."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.computation import compute, placeholder
from baton._src.te.extern_primfunc import extern_primfunc
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.text.parser import parse_text
from tests.codegen.native_run import run_native

KERNEL = parse_text("""
@T.prim_func
def sums_and_products(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32"),
                      C: T.Buffer((4,), "float32"), D: T.Buffer((4, 3), "float32")):
    for i, j in T.grid(4, 3):
        with T.block("sums"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj]
    for i, j in T.grid(4, 3):
        with T.block("products"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = A[vi, vj] * B[vi, vj]
""")


def test_kernels_are_used_among_computations() -> None:
    """Guards both results, computations before and after, and a second use of the same kernel."""
    x, y = placeholder((4, 3), name="X"), placeholder((4, 3), name="Y")
    doubled = compute((4, 3), lambda i, j: x[i, j] * 2.0, name="doubled")
    sums, products = extern_primfunc([doubled, y], KERNEL)
    again, _ = extern_primfunc([products, products], KERNEL, name="again")
    out = compute((4,), lambda i: sums[i] + again[i], name="out")
    func = create_prim_func([x, y, out])
    assert check_prim_func(func) == []
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 4, 3), "float32")
    for run in (lambda *given: run_prim_func(func, given), lambda *given: run_native(func, *given)):
        found = np.zeros(4, "float32")
        run(a, b, found)
        np.testing.assert_allclose(found, (2 * a).sum(1) + (2 * a * b).sum(1), rtol=1e-5)


def test_tensors_that_do_not_fit_are_refused() -> None:
    """Guards number, shape and dtype of the tensors, and kernels of scalars."""
    x = placeholder((4, 3), name="X")
    scalar = parse_text("@T.prim_func\ndef f(n: T.int32, A: T.Buffer((4,), 'int32')):\n    A[0] = n\n")
    for tensors, kernel, words in (
        ([x], KERNEL, "reads 2 buffers"),
        ([x, placeholder((3, 4), name="Z")], KERNEL, r"takes float32\(4, 3\) for B, Z is float32\(3, 4\)"),
        ([x, placeholder((4, 3), "int32", "Z")], KERNEL, "Z is int32"),
        ([], scalar, "scalar parameter n"),
    ):
        with pytest.raises(DiagnosticError, match=words):
            extern_primfunc(tensors, kernel)
