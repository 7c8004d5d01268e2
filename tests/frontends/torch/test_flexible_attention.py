"""`flex_attention`, with the user's functions of scores and masks, gives what PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import baton
from baton._src.frontends.torch.programs.tracing import export
from baton._src.support.diagnostics import DiagnosticError
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import check

QUERIES, KEYS, VALUES = floats(2, 4, 16, 8), floats(2, 2, 16, 8, seed=1), floats(2, 2, 16, 8, seed=2)
DOCUMENTS = torch.tensor([0] * 6 + [1] * 10)


def mask_of(sees: Callable[..., Any]) -> Any:
    return create_block_mask(sees, None, None, 16, 16, device="cpu", BLOCK_SIZE=8)


class Attention(torch.nn.Module):
    """Heads that share keys; slopes of distances that are learned, documents that do not see each other."""

    def __init__(self) -> None:
        super().__init__()
        self.slopes = torch.nn.Parameter(floats(4))
        self.causal = mask_of(lambda b, h, i, j: i >= j)
        self.apart = mask_of(lambda b, h, i, j: DOCUMENTS[i] == DOCUMENTS[j])

    def score(self, score: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        return torch.where(i - j < 9, score + (i - j) * 0.1 * self.slopes[h], -1e4)

    def forward(self, q: Any, k: Any, v: Any) -> tuple[Any, ...]:
        found = flex_attention(q, k, v, self.score, self.causal, scale=0.3, enable_gqa=True)
        again = flex_attention(found, k, v, lambda score, *_: score.tanh(), self.apart, enable_gqa=True)
        return found, *flex_attention(again[:, :2], k, v, return_lse=True)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_scores_and_masks() -> None:
    model, inputs = Attention().eval(), (QUERIES, KEYS, VALUES)
    with torch.no_grad():
        check(export(model, inputs), inputs, model(*inputs))


def test_through_torch_compile() -> None:
    compiled = torch.compile(Attention().eval(), backend="baton", dynamic=False)
    inputs = (QUERIES, KEYS, VALUES)
    with torch.no_grad():
        for got, expected in zip(compiled(*inputs), Attention().eval()(*inputs), strict=True):
            torch.testing.assert_close(got, expected)


def test_open_sizes_are_refused() -> None:
    """Guards programs that PyTorch would trace for one size."""
    sizes = tuple({0: torch.export.Dim.AUTO} for _ in range(3))
    module = torch.nn.Module()
    module.forward = lambda q, k, v: flex_attention(q, k, v)
    with pytest.raises(DiagnosticError, match="flex_attention of open sizes is not supported"):
        baton.compile(export(module, (KEYS, KEYS, VALUES), sizes))
