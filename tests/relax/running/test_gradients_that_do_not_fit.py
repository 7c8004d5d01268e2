"""Gradients that are read where the result stands have its shape: others are refused by every machine."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import module
from tests.relax.machines import everywhere, fails_everywhere

PROGRAM = """
@R.function
def main(g: R.Tensor({}, "float32"), x: R.Tensor({}, "float32")):
    return R.grad.{}_pool2d_backward(g, x, pool_size=(2, 2), strides=(2, 2))
"""


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("shape", [(1, 3, 3, 3), (3, 0, 3, 3), (3, 3, 2, 3), (3, 3, 3)])
def test_a_gradient_of_another_shape_than_the_result_is_refused(kind: str, shape: tuple[int, ...]) -> None:
    """Kernels read what lies beyond it."""
    with pytest.raises(DiagnosticError, match=r"output_grad has shape .* the data needs"):
        module(PROGRAM.format(shape, (3, 3, 6, 6), kind))


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_so_is_one_whose_shape_is_known_when_run(kind: str) -> None:
    """Guards kernels of open sizes, which cannot be judged before."""
    program = PROGRAM.format('("n", 3, "h", "w")', '("m", 3, "k", "l")', kind)
    fits = everywhere(program, np.ones((2, 3, 3, 3), np.float32), np.zeros((2, 3, 6, 6), np.float32))
    assert fits.shape == (2, 3, 6, 6)
    for shape in ((1, 3, 3, 3), (2, 3, 2, 3)):
        fails_everywhere(program, np.ones(shape, np.float32), np.zeros((2, 3, 6, 6), np.float32))


@pytest.mark.parametrize("shape", [(1, 5, 4), (2, 0, 4), (2, 5, 1), ()])
def test_a_gradient_of_another_shape_than_what_was_taken_is_refused(shape: tuple[int, ...]) -> None:
    """Kernels read what lies beyond it."""
    program = """
@R.function
def main(g: R.Tensor({}, "float32"), x: R.Tensor((4, 4), "float32"), at: R.Tensor((2, 5), "int64")):
    return R.grad.take_backward(g, x, at, axis=0)
"""
    with pytest.raises(DiagnosticError, match=r"output_grad has shape .* the data needs \(2, 5, 4\)"):
        module(program.format(shape))
    assert module(program.format((2, 5, 4)))["main"].ret_struct_info.shape.values[0].value == 4
