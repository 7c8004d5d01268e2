"""Sizes computed while a program runs: division by zero names the sizes and their values."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.runtime.dim_expr import compile_dim, compile_dims
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source

QUOTIENT = ["//", ["v", 0], ["v", 1]]


def test_quotients() -> None:
    assert compile_dim(QUOTIENT)([7, 2]) == 3
    assert compile_dims([QUOTIENT, 4])([7, 2]) == (3, 4)


def test_division_by_zero_says_of_what() -> None:
    with pytest.raises(DiagnosticError, match="zero in v0 // v1, where v0 = 7, v1 = 0"):
        compile_dim(QUOTIENT)([7, 0])
    with pytest.raises(DiagnosticError, match="zero in n // m, where n = 7, m = 0"):
        compile_dims([QUOTIENT], ["n", "m"])([7, 0])
    with pytest.raises(DiagnosticError, match=r"zero in 1 // 0$"):
        compile_dim(["//", 1, 0])([])


def test_a_program_names_its_sizes() -> None:
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32")):
        n = T.int64()
        m = T.int64()
        y: R.Tensor((n // m,), "float32") = R.zeros(R.shape([n // m]), "float32")
        return y
""")
    run = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())["main"]
    assert run(baton.nd.array(np.zeros((4, 2), "float32"))).shape == (2,)
    with pytest.raises(DiagnosticError, match="zero in n // m, where n = 4, m = 0"):
        run(baton.nd.array(np.zeros((4, 0), "float32")))
