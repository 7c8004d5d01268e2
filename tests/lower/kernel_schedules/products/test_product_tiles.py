"""How wide the panels of packed weights are: what decides between two vectors and three."""

from __future__ import annotations

import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.tir.expr import Var
from tests.lower.kernel_schedules.products.test_odd_products import product

SERVER = Target("llvm -mcpu=znver4 -num-cores=2")
"""Vectors of 16 floats, and registers for three of them beside each other."""


@pytest.mark.parametrize(
    ("rows", "columns", "width"),
    [
        (
            None,
            160,
            32,
        ),  # five panels of two; with three, one of one vector would be left, and its tiles of all heights
        (None, 192, 48),  # four of three, none is left
        (None, 208, 48),  # one vector is left in any case
        (200, 160, 48),  # few heights occur
    ],
)
def test_panels_of_one_width_for_unknown_rows(rows: int | None, columns: int, width: int) -> None:
    """Guards the size of kernels of open sizes: a second width almost doubles it."""
    weight = packable_weight(product(rows or Var("m", "int64"), columns, 64, transposed=False), SERVER)
    assert weight is not None
    assert weight.width == width
