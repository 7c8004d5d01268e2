"""Gradients through `torch.compile` are those of PyTorch: of inputs and parameters, beside statistics and dropout."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from tests.frontends.torch.cases.inputs import floats, ints
from tests.frontends.torch.modules import seeded

IMAGE, ROWS = floats(2, 3, 9, 8), floats(2, 5, 16)


class Bags(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.means = nn.EmbeddingBag(10, 4, mode="mean")
        self.sums = nn.EmbeddingBag(10, 4, mode="sum", padding_idx=3)
        self.greatest = nn.EmbeddingBag(10, 4, mode="max", padding_idx=2)
        self.factors = nn.Parameter(torch.ones(3, 4))

    def forward(self, words: Any) -> Any:
        return self.means(words) * self.sums(words, per_sample_weights=self.factors) + self.greatest(words)


def pooled() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(4, 4, 3, stride=2, padding=1, groups=2, bias=False), nn.GroupNorm(2, 4), nn.AvgPool2d(2),
        nn.AdaptiveAvgPool2d((2, 1)),
    )  # fmt: skip


def turned() -> nn.Module:
    return nn.Sequential(
        nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1), nn.InstanceNorm2d(4, affine=True),
        nn.ConvTranspose2d(4, 4, (2, 3), (3, 2), (1, 2), (2, 3), groups=2, dilation=4),
        nn.Flatten(2), nn.Conv1d(4, 6, 4, stride=3, padding=1, dilation=2, groups=2),
    )  # fmt: skip


def lengths_apart() -> nn.Module:
    """Weights as directions and lengths."""
    norm = nn.utils.parametrizations.weight_norm
    return nn.Sequential(norm(nn.Conv2d(3, 4, 3)), norm(nn.ConvTranspose2d(4, 2, 2), dim=1), norm(nn.Linear(8, 3)))


class Volumes(nn.Module):
    """Kernels of groups over three axes, greatest elements and repeated edges."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv3d(4, 6, 2, stride=2, padding=1, groups=2)
        self.up = nn.ConvTranspose3d(6, 4, 2, padding=1, groups=2)

    def forward(self, x: Any) -> Any:
        y = self.up(functional.max_pool3d(self.down(x), 2, 1))
        flat = y.flatten(1, 2)
        pools = functional.adaptive_max_pool3d(y, (1, 2, 1)), functional.adaptive_max_pool2d(flat, (2, 1))
        borders = functional.pad(y, (1, 2, 0, 1, 2, 0), "replicate"), functional.pad(flat, (1, 0, -1, 2), "replicate")
        smaller = functional.interpolate(flat, (3, 4), mode="bilinear", antialias=True)
        factors = functional.interpolate(flat, scale_factor=(1.0, 0.6), mode="bicubic", antialias=True)
        more = functional.pad(y[0, 0], (1, 2), "replicate"), smaller, factors
        return torch.cat([part.flatten() for part in (*pools, *borders, *more)])


class Merged(nn.Module):
    """Words whose places are marked are replaced by what an image gives, of which some is left."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.image = nn.Linear(16, 3), nn.Linear(16, 3)

    def forward(self, x: Any) -> Any:
        places = torch.tensor([[True, False, True, False, True], [False, True, False, False, False]])
        return self.words(x).masked_scatter(places.unsqueeze(-1), self.image(x)).square()


class Averages(nn.Module):
    """Pools over three axes, pools whose last windows are cut off, with other divisors, without a batch; distances."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(5, 4))

    def forward(self, x: Any) -> Any:
        y = x * self.scale
        deep = functional.avg_pool3d(y, 3, 2, 1, ceil_mode=True), functional.adaptive_avg_pool3d(y, (2, 3, 1))
        bare = functional.avg_pool3d(y[0], 2, 1, 1, count_include_pad=False), functional.avg_pool2d(y[0, 0], 2)
        cut = functional.avg_pool2d(y[0], (3, 2), 2, 1, ceil_mode=True)
        flat = cut, functional.avg_pool2d(y[0], 2, padding=1, divisor_override=3)
        distances = [torch.cdist(y[0, 0], x[0, 1], p) for p in (0.0, 1.0, 1.5, 2.0, float("inf"))]
        return torch.cat([part.flatten() for part in (*deep, *bare, *flat, *distances, torch.cdist(y, y))])


class Volume(nn.Module):
    """Determinants and solutions of matrices that lie by rows, and by columns."""

    def __init__(self) -> None:
        super().__init__()
        self.side = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.side(x) + 3 * torch.eye(4)
        solve = torch.linalg.solve
        solved = solve(y, x), solve(y.mT, x[..., 0]), solve(y, x, left=False)
        return y.det() + y.mT.det() * x.logdet().nan_to_num() + sum(s.sum() for s in solved)


@pytest.mark.parametrize(
    ("make", "given"),
    [
        (pooled, IMAGE),
        (turned, IMAGE),
        (lambda: nn.Conv3d(2, 3, 2, stride=2, padding=1), floats(1, 2, 4, 5, 6)),
        (lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), ROWS),
        (Bags, ints(3, 4, low=0, high=10)),
        (lengths_apart, floats(2, 3, 5, 9)),
        (Volumes, floats(2, 4, 4, 5, 6)),
        (Averages, floats(2, 3, 4, 5, 4)),
        (Merged, ROWS),
        (Volume, floats(3, 4, 4)),
    ],
    ids=["pooled", "turned", "volume", "attention", "bags", "lengths", "volumes", "averages", "merged", "det"],
)
def test_gradients(make: Callable[[], nn.Module], given: Any) -> None:
    torch._dynamo.reset()
    module = seeded(make).train()
    found = []
    for used in (module, torch.compile(copy.deepcopy(module), backend="baton")):
        x = given.clone().requires_grad_(given.is_floating_point())
        result = used(x)
        result.square().sum().backward()
        found.append(
            (result.detach(), x.grad, [p.grad for p in used.parameters()], [b.clone() for b in used.buffers()])
        )
    torch.testing.assert_close(found[1], found[0], rtol=1e-3, atol=1e-4)


class Sampled(nn.Module):
    """Images read at points that are learned, as in deformable attention."""

    def __init__(self, mode: str, border: str) -> None:
        super().__init__()
        self.points, self.mode, self.border = nn.Conv2d(3, 2, 1), mode, border

    def forward(self, x: Any) -> Any:
        grid = self.points(x).permute(0, 2, 3, 1)
        return nn.functional.grid_sample(x, grid, self.mode, self.border, align_corners=self.mode == "nearest")


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1, ceil_mode=True),
            nn.AdaptiveAvgPool2d((2, 3)),
        ),
        lambda: Sampled("bilinear", "zeros"),
        lambda: Sampled("bilinear", "reflection"),
        lambda: Sampled("bicubic", "reflection"),
        lambda: Sampled("nearest", "border"),
    ],
    ids=["pooled", "sampled", "mirrored", "cubic", "nearest"],
)  # fmt: skip
def test_gradients_of_images_of_any_size(make: Callable[[], nn.Module]) -> None:
    """One compilation for all sizes, even and odd."""
    torch._dynamo.reset()
    module = seeded(make).train()
    compiled = torch.compile(copy.deepcopy(module), backend="baton", dynamic=True)
    for size in ((2, 3, 9, 8), (3, 3, 12, 15)):
        found = []
        for used in (module, compiled):
            x = floats(*size).requires_grad_()
            result = used(x)
            given = result.square().sum()
            found.append((result.detach(), *torch.autograd.grad(given, (x, *used.parameters()), allow_unused=True)))
        torch.testing.assert_close(found[1], found[0], rtol=1e-3, atol=1e-4)


class Drawing(nn.Module):
    """Random numbers in many ways, and how many rows there are is open."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.drop = nn.Linear(6, 4), nn.Dropout(0.3)

    def forward(self, x: Any) -> Any:
        kept = self.drop(self.linear(x)) * torch.rand(x.shape[0], 1) + torch.randn_like(x[:, :4])
        kept = kept + torch.normal(0.0, 1.0, (x.shape[0], 1)) + torch.empty(x.shape[0], 1).geometric_(0.4)
        places = torch.randint(0, 4, (x.shape[0], 2))
        return kept + torch.bernoulli(torch.full_like(kept, 0.3), p=0.5), kept.gather(1, places)


class Recomputed(Drawing):
    """Activation checkpointing: the gradients draw again what the results were made with."""

    def forward(self, x: Any) -> Any:
        return checkpoint(super().forward, x, use_reentrant=False)


@pytest.mark.parametrize(
    ("make", "inputs"),
    [
        (Drawing, [floats(4, 6), floats(7, 6), floats(9, 6)]),
        (Recomputed, [floats(4, 6), floats(7, 6)]),
        (lambda: nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True), [ROWS]),
    ],
    ids=["drawing", "recomputed", "attention"],
)
def test_random_numbers_are_those_of_the_seed(make: Callable[[], nn.Module], inputs: list[Any]) -> None:
    """PyTorch draws them, with and without gradients; two calls draw different ones."""
    torch._dynamo.reset()
    module = seeded(make).train()
    compiled = torch.compile(copy.deepcopy(module), backend="baton")

    def run(used: Any, x: Any, gradients: bool) -> list[Any]:
        torch.manual_seed(5)
        given = x.clone().requires_grad_(gradients)
        with torch.set_grad_enabled(gradients):
            first, second = (used(given) for _ in range(2))
        results = [r for found in (first, second) for r in (found if isinstance(found, tuple) else (found,))]
        assert not torch.equal(results[0], results[len(results) // 2])
        if gradients:
            sum(r.pow(3).sum() for r in results).backward()
        return [r.detach() for r in results] + ([given.grad] if gradients else [])

    for x in inputs:
        torch.testing.assert_close(run(compiled, x, True), run(module, x, True), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(run(compiled, inputs[0], False), run(module, inputs[0], False), rtol=1e-3, atol=1e-4)


CHANCES = torch.rand(20, 6, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("chances", [CHANCES, CHANCES[0], CHANCES.double(), CHANCES.half()])
def test_draws_that_depend_on_elements_are_those_of_the_seed(chances: Any) -> None:
    """`multinomial` and `normal` were refused, and float64's `bernoulli` drew other numbers than PyTorch: nothing told,
    and all that was drawn after it differed, too."""

    def draw(p: Any) -> Any:
        shares = p.softmax(-1)
        places = [torch.multinomial(shares, n, replacement=r) for n, r in ((1, False), (3, False), (9, True))]
        numbers = torch.normal(p, 0.5), torch.normal(1.0, p), torch.normal(p, shares)
        return *places, *numbers, torch.bernoulli(shares), torch.bernoulli(p.mT) if p.dim() > 1 else p, torch.rand(2)

    torch._dynamo.reset()
    found = []
    for used in (draw, torch.compile(draw, backend="baton")):
        torch.manual_seed(5)
        found.append(used(chances))
    torch.testing.assert_close(found[1], found[0])


def test_chances_that_are_none() -> None:
    """As PyTorch checks them."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda p: torch.multinomial(p - 1, 2), backend="baton")
    with pytest.raises(Exception, match="probabilities must be"):
        compiled(CHANCES)


@pytest.mark.parametrize(
    "make",
    [
        lambda weights: torch.optim.SGD(weights, 0.1, momentum=0.9),
        lambda weights: torch.optim.AdamW(weights, 0.01, weight_decay=0.1),
    ],
    ids=["SGD", "AdamW"],
)
def test_steps_of_optimizers(make: Callable[..., Any]) -> None:
    """A compiled step changes weights, and what the optimizer remembers, as PyTorch does."""
    torch._dynamo.reset()
    module = seeded(lambda: nn.Linear(4, 3))
    found = []
    for is_compiled in (False, True):
        used = copy.deepcopy(module)
        optimizer = make(used.parameters())
        step = torch.compile(optimizer.step, backend="baton") if is_compiled else optimizer.step
        for turn in range(3):
            optimizer.zero_grad()
            used(floats(5, 4, seed=turn)).square().sum().backward()
            step()
        found.append([*used.parameters(), *(s for k in optimizer.state.values() for s in k.values() if s is not None)])
    torch.testing.assert_close(found[1], found[0])
