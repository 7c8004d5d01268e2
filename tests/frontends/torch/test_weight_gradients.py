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
        (lambda groups: nn.ConvTranspose2d(3, 6, 3, 2, 1, 1, groups), (2, 3, 5, 4)),
        (lambda groups: nn.Conv1d(3, 6, 4, 3, 2, groups=groups), (2, 3, 11)),
        (lambda groups: nn.Conv2d(3, 6, 1, groups=groups), (1, 3, 4, 5)),
    ],
    ids=["narrow", "wide", "turned", "1d", "1x1"],
)
def test_weights(layer: Any, image: Any, groups: int) -> None:
    """Of one group the operator becomes products; as a kernel it is a loop over places without vectors."""
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
    assert any("backward_weight" in p for p in programs) is (groups > 1)
