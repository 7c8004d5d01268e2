"""Operators about whose operands little is known when compiling judge the values when run, the same way everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.shape import ShapeTuple
from tests.relax.build import module
from tests.relax.machines import everywhere, f32, fails_everywhere

PROGRAM = """
@R.function
def main(x: R.Tensor, y: R.Object) -> R.Object:
    {body}
"""
FIRST = """
@R.function
def main(x: R.Tensor(("n",), "float32")):
    n = T.int64()
    y = R.topk(x, k=3, ret_type="values")
    return y
"""
TENSOR = "z = R.match_cast(y, R.Tensor)\n    "
SHAPE = "z = R.match_cast(y, R.Shape)\n    "


def ones(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    return np.ones(shape, dtype)


@pytest.mark.rule("RELAX-OPSHAPE-04", rejects=True)
@pytest.mark.rule("RELAX-OPSHAPE-07", rejects=True)
@pytest.mark.parametrize(
    ("body", "x", "y", "code", "says"),
    [
        ("return R.add(x, z)", ones(2, 3), ones(2, 3, dtype="int32"), "op-dtype", "got float32 and int32"),
        ("return R.concat((x, z), axis=0)", ones(2), ones(2, dtype="int8"), "op-dtype", "got float32 and int8"),
        ("return R.exp(z)", ones(2), ones(2, dtype="int32"), "op-dtype", "floating-point elements, got int32"),
        ("return R.add(x, z)", ones(2, 3), ones(3, 2), "op-shape", "(2, 3) and (3, 2) do not broadcast"),
        ("return R.matmul(x, z)", ones(2, 3), ones(2, 3), "op-shape", "differ: 3 against 2"),
        ("return R.split(x, 3, axis=0)", ones(4), ones(1), "op-shape", "cannot be cut into 3 parts"),
        ("return R.sum(x, axis=[2])", ones(4, 2), ones(1), "op-axis", "axis 2 is out of range for rank 2"),
        ("return R.nn.conv2d(x, z)", ones(4, 2), ones(2, 2), "op-shape", "has rank 2"),
    ],
)
def test_values_that_do_not_fit_are_refused_by_every_machine(body: str, x: Any, y: Any, code: str, says: str) -> None:
    """Guards the interpreter, too: NumPy would add int32 to float32, and raise errors of its own."""
    fails_everywhere(PROGRAM.format(body=TENSOR + body), x, y, code=code, says=says)


@pytest.mark.rule("RELAX-OPSHAPE-10", rejects=True)
def test_a_shape_that_does_not_fit_names_the_operator_and_its_line() -> None:
    """Guards messages of the interpreter: NumPy's ValueError came through as it was."""
    error = fails_everywhere(PROGRAM.format(body=SHAPE + "return R.reshape(x, z)"), ones(5), ShapeTuple([2, 3]))
    assert "reshape: cannot reshape (5,) into (2, 3)" in str(error)
    assert "return R.reshape(x, z)" in str(error)


@pytest.mark.rule("RELAX-OPSHAPE-15")
def test_the_first_elements_of_an_axis_that_has_fewer_are_refused() -> None:
    """Guards topk of a symbolic axis: where it was shorter than k, compiled code read behind its end."""
    assert everywhere(FIRST, f32(1, 4, 2, 3)).numpy().tolist() == [4, 3, 2]
    fails_everywhere(FIRST, f32(1, 4), code="value-mismatch")


@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,ij->i"])
def test_sizes_that_einsum_takes_to_be_equal_are_compared(equation: str) -> None:
    """Guards the interpreter, which took NumPy's word that a size of 1 fits any; compiled code refuses it."""
    program = f"""
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), y: R.Tensor(("k", "l"), "float32")) -> R.Object:
    return R.einsum((x, y), "{equation}")
"""
    square = np.arange(4, dtype=np.float32).reshape(2, 2)
    everywhere(program, square, square)
    for other in (square[:1], square[:, :1] if "ij,ij" in equation else square[:1]):
        fails_everywhere(program, square, other.copy(), code="value-mismatch", says="expected")


def test_indices_longer_than_the_data_gather_nothing() -> None:
    """Guards the axes beside the one indices count along: NumPy repeated data of one element, compiled code refused."""
    program = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), i: R.Tensor(("k", "l"), "int64")) -> R.Object:
    return R.gather_elements(x, i, axis=0)
"""
    data = np.arange(3, dtype=np.float32).reshape(3, 1)
    assert everywhere(program, data, np.array([[2], [0]])).numpy().ravel().tolist() == [2, 0]
    assert everywhere(program, data[:, :0].copy(), np.zeros((0, 1), np.int64)).shape == (0, 1)
    fails_everywhere(program, data, np.zeros((3, 2), np.int64))
    known = program.replace('"n", "m"', "3, 1").replace('"k", "l"', "3, 2")
    with pytest.raises(DiagnosticError, match="axis 1 of the indices"):
        module(known)
