"""Arithmetic of sizes is that of whole numbers, in every machine; what does not fit where it goes is refused there."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.values.shape import ShapeTuple
from tests.relax.machines import everywhere, fails_everywhere, table

BIG = ShapeTuple((2**32,))


def program(result: str) -> str:
    """A function of the size m."""
    return f"""
@R.function(pure=False)
def main(s: R.Shape(["m"])) -> R.Object:
    m = T.int64()
    return {result}
"""


@pytest.mark.rule("RELAX-GRAMMAR-03")
@pytest.mark.rule("RELAX-DIM-7")
@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        ("m * m // m", 2**32),
        ("m * m - m * m + 5", 5),
        ("m * m % 7", 2),
        ("T.if_then_else(m * m > m, 1, 2)", 1),
        ("T.min(m * m, 3)", 3),
        ("T.max(-m * m, 3)", 3),
        ("m << 40 >> 40", 2**32),
    ],
)
def test_what_is_computed_on_the_way_may_be_large(dim: str, expected: int) -> None:
    """The interpreter wrapped around, and gave another shape than the compiled program."""
    assert everywhere(program(f"R.shape([{dim}])"), BIG) == (expected,)


@pytest.mark.rule("RELAX-GRAMMAR-02")
@pytest.mark.parametrize(
    "dim",
    ["m * m", "m + 9223372036854775807", "-m * 2147483648 * 2", "T.max(m * m, 1)", "m << 40"],
)
def test_a_dim_is_an_int64(dim: str) -> None:
    """The interpreter gave a shape of 0."""
    fails_everywhere(program(f"R.shape([{dim}])"), BIG, says="a dim is an int64", code="value-mismatch")


@pytest.mark.rule("RELAX-GRAMMAR-02")
@pytest.mark.parametrize("dim", ["T.int64(1) << m", "m >> 5 - m"])
def test_shifts_stay_within_the_bits(dim: str) -> None:
    """The interpreter gave 0, and the compiled program Python's own error."""
    fails_everywhere(program(f"R.shape([{dim}])"), BIG, says="shifted by 0..63 bits", code="value-mismatch")


@pytest.mark.rule("RELAX-GRAMMAR-02")
@pytest.mark.rule("RELAX-GRAMMAR-24")
def test_a_prim_value_is_within_its_dtype() -> None:
    """A packed function was handed 2**64 as an int64."""
    body = program('R.call_packed("test.show", R.prim_value(m * m), sinfo_args=R.Object)')
    shown: list[Any] = []
    functions = table(show=shown.append)
    fails_everywhere(body, BIG, functions=functions, says="does not fit", code="value-mismatch")
    assert not shown


@pytest.mark.parametrize("dims", ["m * m", "m, m, 0", "m, m // 4, 2"])
def test_tensors_beyond_all_memory_are_refused(dims: str) -> None:
    """NumPy's own errors came through, which name nothing of the program."""
    fails_everywhere(program(f'R.zeros(R.shape([{dims}]), "float32")'), BIG, code="value-mismatch")


@pytest.mark.rule("RELAX-GRAMMAR-04")
@pytest.mark.parametrize("dim", ["5 // m", "5 % m"])
def test_division_by_zero_names_the_variable(dim: str) -> None:
    """The machines called it by its slot, v0."""
    error = fails_everywhere(program(f"R.shape([{dim}])"), ShapeTuple((0,)), says=dim[2:])
    assert "division by zero" in str(error)
