"""Gradients of convolutions towards their weights, which are products of matrices."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from baton.relax.frontend.torch import relax_dynamo
from baton.relax.transform import DecomposeOps
from tests.frontends.torch.cases.inputs import floats

WIDE = 64


@pytest.mark.parametrize("groups", [1, 3])
@pytest.mark.parametrize(
    ("layer", "image"),
    [
        (lambda groups: nn.Conv2d(3, 6, (3, 2), (2, 1), (0, 1), (1, 2), groups), (2, 3, 9, 7)),
        (lambda groups: nn.Conv2d(WIDE * groups, 6, 3, 2, 1, groups=groups), (2, WIDE, 6, 7)),
        (lambda groups: nn.Conv2d(9 * groups, 6, (2, 3), (1, 2), (1, 0), (2, 1), groups), (3, 9, 6, 7)),
        (lambda groups: nn.ConvTranspose2d(3, 6, 3, 2, 1, 1, groups), (2, 3, 5, 4)),
        (lambda groups: nn.Conv1d(3, 6, 4, 3, 2, groups=groups), (2, 3, 11)),
        (lambda groups: nn.Conv2d(3, 6, 1, groups=groups), (1, 3, 4, 5)),
        (lambda groups: nn.Conv3d(3, 6, (2, 3, 2), (2, 1, 1), (1, 0, 1), (1, 1, 2), groups), (2, 3, 5, 4, 6)),
    ],
    ids=["narrow", "wide", "nine", "turned", "1d", "1x1", "3d"],
)
def test_weights(layer: Any, image: Any, groups: int) -> None:
    """Of one group, and of groups of many channels, the operator becomes products; else it has a kernel over planes."""
    torch.manual_seed(0)
    module, programs = layer(groups), list[str]()
    x = floats(image[0], module.in_channels, *image[2:])

    def seen(imported: Any) -> Any:
        programs.append(DecomposeOps()(imported).script())
        return imported

    torch._dynamo.reset()
    compiled = torch.compile(module, backend=relax_dynamo(seen))
    found = [torch.autograd.grad(f(x).square().sum(), [*module.parameters()]) for f in (module, compiled)]
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)
    assert len(programs) == 2
    inner = next(module.parameters()).shape[0 if isinstance(module, nn.ConvTranspose2d) else 1]
    assert any("backward_weight" in p for p in programs) is (groups > 1 and inner < WIDE)
