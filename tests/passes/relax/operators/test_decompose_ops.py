"""DecomposeOpsForTraining on weights that lie along other axes than the last ones."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.passes.relax.operators.decompose_ops import DecomposeOpsForTraining
from tests.passes.relax.programs import R, arrays, called, check, program, tensor


@pytest.mark.parametrize("axes", [[1], [0, 2], [2, 1], [-1, 0], [-2, -1]])
def test_weights_of_layer_norm_lie_along_its_axes(axes: list[int]) -> None:
    """They were broadcast along the last axes, whichever were meant."""
    shape = [3 for _ in axes]

    def build(b: Any, x: Any, gamma: Any, beta: Any) -> Any:
        return R.nn.layer_norm(x, gamma, beta, axes=axes)

    params = [tensor("x", 3, 3, 3), tensor("gamma", *shape), tensor("beta", *shape)]
    args = arrays((3, 3, 3), tuple(shape), tuple(shape))
    after = check(DecomposeOpsForTraining(), program(params, build), *args, rtol=1e-4)
    assert "nn.layer_norm" not in called(after)
