"""Deduction knows that what stands for a dim is not negative, where it does and only there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relax, tir
from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import load
from tests.relax.machines import everywhere


def rows(n: Any) -> relax.Var:
    """A tensor of n rows."""
    return relax.Var("x", relax.TensorStructInfo((n,), "float32"))


def test_parameters_tell_that_their_dims_are_not_negative() -> None:
    """Guards slices of one row less: the type had `n - T.min(0, n)` rows, which fitted nothing of n rows."""
    n = tir.Var("n", "int64")
    x, builder = rows(n), relax.BlockBuilder()
    longer = relax.Var("longer", relax.TensorStructInfo((n + 1,), "float32"))
    with builder.function("main", [x, longer]):
        found = builder.emit(relax.op.strided_slice(longer, [0], [1], [n + 1]))
        half = builder.emit(relax.op.strided_slice(x, [0], [0], [n // 2]))
        builder.emit_func_output(relax.Tuple([found, half]))
    assert str(found.struct_info) == str(x.struct_info)
    assert str(half.struct_info.shape) == "R.shape([n // 2])"


def test_tensors_have_no_negative_sizes() -> None:
    """Guards types of tensors that nothing is of: readers and builders took them."""
    with pytest.raises(DiagnosticError, match="-4 is no size of a dim"):
        rows(-4)
    with pytest.raises(DiagnosticError, match="-4 is no size of a dim") as caught:
        load("@R.function\ndef main(x: R.Tensor((2, -4), 'float32')):\n    return x\n")
    assert caught.value.diagnostics[0].span is not None


def test_scalars_may_be_negative() -> None:
    """Guards soundness: what one function takes as a dim is a scalar of another, and counts from the end there."""
    n = tir.Var("n", "int64")
    builder = relax.BlockBuilder()
    with builder.function("as_dim", [rows(n)]):
        builder.emit_func_output(relax.const(1))
    x, scalar = rows(4), relax.Var("s", relax.PrimStructInfo(value=n))
    with builder.function("as_scalar", [x, scalar]):
        found = builder.emit(relax.op.strided_slice(x, [0], [0], [n + 4]))
        builder.emit_func_output(found)
    assert found.struct_info.shape.values[0] != 4
    assert "T.min" in str(found.struct_info)


SHIFTED = """
@R.function
def main(x: R.Tensor(("n + 1", 2), "float32"), y: R.Tensor(("n", 2), "float32")) -> R.Tensor(("n", 2), "float32"):
    n = T.int64()
    with R.dataflow():
        rest = R.strided_slice(x, [0], [1], [n + 1])
        found = R.add(rest, y)
        R.output(found)
    return found
"""


@pytest.mark.parametrize("n", [0, 1, 4])
def test_every_machine_agrees(n: int) -> None:
    """Guards that what is deduced so is what runs: also of no rows."""
    x, y = (np.arange(2 * k, dtype="float32").reshape(k, 2) for k in (n + 1, n))
    np.testing.assert_array_equal(everywhere(SHIFTED, x, y).numpy(), x[1:] + y)
