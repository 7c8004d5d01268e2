"""Blocks as people ship them, in several sizes: routed experts, graphs, rotary embeddings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import baton
from tests.frontends.torch.cases.inputs import floats, ints
from tests.frontends.torch.comparing import as_array, assert_same
from tests.frontends.torch.modules import seeded


class Experts(nn.Module):
    """Every word goes to two of four experts: who gets how many is known only when it runs."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(8, 6), nn.SiLU(), nn.Linear(6, 8)) for _ in range(4))

    def forward(self, x: Any) -> Any:
        words = x.view(-1, 8)
        shares, chosen = torch.topk(functional.softmax(self.router(words), 1), 2, dim=-1)
        routes = functional.one_hot(chosen, num_classes=4).permute(2, 1, 0)
        total = torch.zeros_like(words)
        for expert, route in zip(self.experts, routes, strict=True):
            turn, word = torch.where(route)
            total.index_add_(0, word, expert(words[word]) * shares[word, turn, None])
        return total.view_as(x)


class GraphAttention(nn.Module):
    """Softmax over the edges into every node."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.score = nn.Linear(4, 6), nn.Linear(12, 1)

    def forward(self, x: Any, edges: Any) -> Any:
        source, target = edges
        h, count = self.project(x), x.shape[0]
        scores = functional.leaky_relu(self.score(torch.cat([h[source], h[target]], -1)), 0.2).squeeze(-1)
        top = torch.full((count,), -1e9).scatter_reduce(0, target, scores, "amax")
        powers = (scores - top[target]).exp()
        shares = powers / torch.zeros(count).scatter_add(0, target, powers)[target]
        return torch.zeros(count, 6).index_add(0, target, h[source] * shares[:, None])


class Rotary(nn.Module):
    """Positions as complex numbers that queries and keys are multiplied by; groups of queries share keys."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv = nn.Linear(16, 16), nn.Linear(16, 16)
        angles = torch.outer(torch.arange(8.0), 10000.0 ** -(torch.arange(2.0) / 2))
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def turned(self, x: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.turns[: x.shape[1]][None, :, None]).flatten(3)

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        q = self.turned(self.q(x).view(batch, length, 4, 4)).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2, 2, 4).unbind(2)
        found = functional.scaled_dot_product_attention(
            q, self.turned(k).transpose(1, 2), v.transpose(1, 2), is_causal=True, enable_gqa=True
        )
        return found.transpose(1, 2).reshape(batch, length, 16)


@pytest.mark.parametrize(
    ("make", "examples"),
    [
        (Experts, [(floats(2, 5, 8),), (floats(2, 5, 8, seed=1),)]),
        (GraphAttention, [(floats(5, 4), ints(2, 9, low=0, high=5)), (floats(5, 4), ints(2, 9, low=2, high=4))]),
        (Rotary, [(floats(2, 6, 16),)]),
    ],
    ids=["experts", "graph", "rotary"],
)
def test_block(make: Any, examples: list[tuple[Any, ...]]) -> None:
    module = seeded(make)
    model = baton.compile(torch.export.export(module, examples[0]))
    for given in examples:
        assert_same(model(*(as_array(x) for x in given)), [module(*given)], make.__name__)
