"""Sizes computed while a program runs: division by zero names the sizes and their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.runtime.dim_expr import compile_dim, compile_dims
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source
from tests.relax.machines import everywhere

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


def test_only_what_is_chosen_is_computed() -> None:
    """A test guards a division, as in tir; both sides were computed."""
    guarded = ["select", [">", ["v", 0], 3], ["//", ["v", 0], ["-", ["v", 0], 3]], 7]
    both = ["and", [">", ["v", 0], 3], ["//", ["v", 0], ["-", ["v", 0], 3]]]
    either = ["or", ["<=", ["v", 0], 3], [">", ["//", ["v", 0], ["-", ["v", 0], 3]], 2]]
    for n, size, holds, held in ((3, 7, False, True), (4, 4, True, True), (5, 2, True, False)):
        assert compile_dim(["+", guarded, ["*", guarded, 10]])([n]) == 11 * size
        assert compile_dim(both)([n]) is holds
        assert compile_dim(either)([n]) is held
    with pytest.raises(DiagnosticError, match=r"zero in select\(\(n < 4\), \(n // \(n - 3\)\), 0\), where n = 3"):
        compile_dim(["select", ["<", ["v", 0], 4], guarded[2], 0], ["n"])([3])


def test_choices_nest_deeply() -> None:
    expr: Any = 0
    for place in range(5000):
        expr = ["select", ["==", ["v", 0], place], place, expr]
    assert compile_dim(expr)([1]) == 1
    assert compile_dim(expr)([-1]) == 0


@pytest.mark.rule("RELAX-GRAMMAR-07")
def test_programs_compute_only_the_size_that_is_chosen() -> None:
    """The machines divided by zero where the interpreter did not."""
    body = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Object:
    n = T.int64()
    y = R.zeros(R.shape([T.if_then_else(n > 3, n // (n - 3), 7)]), "float32")
    return (R.add(y, y), R.shape([T.Select(T.And(n > 3, n // (n - 3) > 2), 1, 0)]))
"""
    for n, size, chosen in ((3, 7, 0), (4, 4, 1), (5, 2, 0)):
        found, shape = everywhere(body, np.zeros(n, np.float32))
        assert (found.shape, tuple(shape)) == ((size,), (chosen,))


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


@pytest.mark.parametrize(
    ("operation", "operands", "wanted"),
    [
        ("sqrt", [-1.0], np.nan),
        ("log", [0.0], -np.inf),
        ("exp", [1000.0], np.inf),
        ("div", [1.0, 0.0], np.inf),
        ("mod", [-7.5, 2.0], -1.5),
        ("pow", [-8.0, 0.5], np.nan),
        ("ceil", [1.5], 2.0),
        ("floor", [-np.inf], -np.inf),
        ("div", [-7, 2], -3),
        ("mod", [-7, 2], -1),
        ("ceil", [3], 3),
    ],
)
def test_floats_are_computed_as_in_tensors(operation: str, operands: list[Any], wanted: float) -> None:
    """Guards against Python's errors, integers that stand for floats, and remainders that were 0."""
    found = compile_dim([operation, *(["v", slot] for slot in range(len(operands)))])(operands)
    assert type(found) is type(wanted)
    np.testing.assert_equal(found, wanted)
