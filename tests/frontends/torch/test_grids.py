"""The gradient of sampling images at points, against PyTorch's own in float64."""

from __future__ import annotations

import pytest
import torch

from baton._src.frontends.torch.programs.grids import grid_sampler_backward
from tests.frontends.torch.cases.inputs import floats


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("padding", [0, 1, 2], ids=["zeros", "border", "reflection"])
@pytest.mark.parametrize("interpolation", [0, 1, 2], ids=["bilinear", "nearest", "bicubic"])
def test_gradients_at_points(interpolation: int, padding: int, align_corners: bool) -> None:
    x, grid = floats(2, 3, 5, 6).double().requires_grad_(), floats(2, 4, 7, 2, seed=1).double().requires_grad_()
    sampled = torch.grid_sampler(x, grid, interpolation, padding, align_corners)
    grad = floats(*sampled.shape, seed=2).double()
    expected = torch.autograd.grad(sampled, (x, grid), grad)
    given = grad, x.detach(), grid.detach(), interpolation, padding, align_corners, (True, True)
    torch.testing.assert_close(grid_sampler_backward(*given), expected)
