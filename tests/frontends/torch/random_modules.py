"""Random PyTorch modules: layers of images, or of rows of features, one behind the other, with branches between them.

module, inputs, open_sizes = random_module(seed)
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

from tests.frontends.torch.cases.inputs import floats

Step = Callable[[Any], Any]
ACTIVATIONS = (
    nn.ReLU, nn.GELU, nn.SiLU, nn.Hardswish, nn.ELU, nn.Softplus, nn.Mish, nn.LeakyReLU, nn.Tanh, nn.Softsign, nn.CELU,
    nn.Hardsigmoid, nn.LogSigmoid, nn.SELU, nn.ReLU6, nn.Tanhshrink,
)  # fmt: skip


class Drawn(nn.Module):
    """Its steps in order; where a step keeps the shape, what it was given may be added."""

    def __init__(self, steps: list[Step], adds: list[bool]) -> None:
        super().__init__()
        self.steps = steps
        self.layers = nn.ModuleList(s for s in steps if isinstance(s, nn.Module))
        self.adds = adds

    def forward(self, x: Any) -> Any:
        for step, add in zip(self.steps, self.adds):
            y = step(x)
            x = x + y if add and y.shape == x.shape else y
        return x


class First(nn.Module):
    """The first result of a layer that has several."""

    def __init__(self, layer: nn.Module, same: int) -> None:
        super().__init__()
        self.layer, self.same = layer, same

    def forward(self, x: Any) -> Any:
        return self.layer(*[x] * self.same)[0]


def random_module(seed: int) -> tuple[Drawn, list[Any], dict[int, Any] | None]:
    """The module of a seed in evaluation mode, inputs for it, and which of their sizes are open: the batch, or none."""
    draw = random.Random(seed)
    torch.manual_seed(seed)
    is_image = draw.random() < 0.5
    if is_image:
        shape = (2, draw.choice([1, 3, 4, 8]), draw.choice([7, 8, 12]), draw.choice([6, 9, 12]))
    else:
        shape = (2, draw.choice([3, 5, 8]), draw.choice([4, 8, 12]))
    example, steps = floats(*shape), []
    x = example
    while len(steps) < draw.randint(2, 6):
        step = (_of_image if is_image else _of_rows)(draw, tuple(x.shape))
        if isinstance(step, nn.Module):
            step.eval()
        try:
            x = step(x)
        except (RuntimeError, ValueError):  # windows larger than images
            continue
        steps.append(step)
    module = Drawn(steps, [draw.random() < 0.4 for _ in steps]).eval()
    if draw.random() < 0.5:
        return module, [example], None
    return module, [example, floats(5, *shape[1:]), floats(1, *shape[1:])], {0: Dim("batch", max=64)}


def _of_image(draw: random.Random, shape: tuple[int, ...]) -> Step:
    c = shape[1]
    size, outputs = draw.choice([1, 2, 3, 5]), draw.choice([1, 4, 6, 8, 17])
    step, border = draw.choice([1, 1, 2]), draw.choice([0, 1, 2])
    groups = draw.choice([1, 1, c])
    mode = draw.choice(["zeros", "zeros", "reflect", "replicate", "circular"])
    larger = draw.choice(["nearest", "bilinear", "bicubic"])
    aligned = {} if larger == "nearest" else {"align_corners": draw.random() < 0.5}
    return draw.choice([
        lambda: nn.Conv2d(c, outputs * groups, size, step, border, groups=groups, padding_mode=mode),
        lambda: nn.Conv2d(c, outputs, 3, padding=2, dilation=2),
        lambda: nn.ConvTranspose2d(c, outputs, size, step, min(border, size - 1), bias=draw.random() < 0.5),
        lambda: nn.BatchNorm2d(c),
        lambda: nn.GroupNorm(draw.choice([1, c]), c),
        lambda: nn.InstanceNorm2d(c, affine=True),
        lambda: nn.MaxPool2d(3, step, 1, ceil_mode=draw.random() < 0.5),
        lambda: nn.AvgPool2d(3, step, 1, ceil_mode=draw.random() < 0.5, count_include_pad=draw.random() < 0.5),
        lambda: nn.AdaptiveAvgPool2d((draw.randint(1, 4), draw.randint(1, 4))),
        lambda: nn.Upsample(scale_factor=2, mode=larger, **aligned),
        lambda: nn.PReLU(c),
        draw.choice(ACTIVATIONS),
        lambda: nn.PixelUnshuffle(2),
        lambda: nn.ChannelShuffle(draw.choice([1, c])),
        lambda: lambda x: torch.cat([x, x.roll(1, 2)], dim=1),
        lambda: lambda x: functional.pad(x, (1, 2, 0, 1), mode="reflect"),
        lambda: lambda x: x * torch.sigmoid(x.mean((2, 3), keepdim=True)),
        lambda: lambda x: x.flip(3).transpose(2, 3),
        lambda: lambda x: x.chunk(2, dim=1)[0].contiguous(),
        lambda: lambda x: functional.normalize(x, dim=1),
    ])()  # fmt: skip


def _of_rows(draw: random.Random, shape: tuple[int, ...]) -> Step:
    _, steps, features = shape
    outputs, heads = draw.choice([1, 4, 8, 12, 17]), 2 if features % 2 == 0 else 1
    axis = draw.choice([1, 2])
    cell = draw.choice([nn.LSTM, nn.GRU, nn.RNN])
    return draw.choice([
        lambda: nn.Linear(features, outputs, bias=draw.random() < 0.7),
        lambda: nn.LayerNorm(features),
        lambda: nn.RMSNorm(features),
        lambda: First(nn.MultiheadAttention(features, heads, batch_first=True), 3),
        lambda: First(cell(features, outputs, batch_first=True, bidirectional=draw.random() < 0.4), 1),
        lambda: nn.TransformerEncoderLayer(features, heads, 9, batch_first=True, norm_first=draw.random() < 0.5),
        lambda: nn.Conv1d(steps, outputs, 3, padding=1),
        draw.choice(ACTIVATIONS),
        lambda: nn.GLU(),
        lambda: nn.Softmax(axis),
        lambda: lambda x: functional.scaled_dot_product_attention(x, x, x, is_causal=True),
        lambda: lambda x: torch.einsum("bsf,btf->bst", x, x),
        lambda: lambda x: x.cumsum(axis) / steps,
        lambda: lambda x: x.masked_fill(x > 0.5, -1.0),
        lambda: lambda x: torch.where(x < x.mean(axis, keepdim=True), x, x * 0.5),
        lambda: lambda x: x.sort(axis, descending=True).values,
        lambda: lambda x: x.topk(2, axis).values,
        lambda: lambda x: x.transpose(1, 2),
        lambda: lambda x: x[:, ::2] + x[:, -1:],
        lambda: lambda x: torch.stack([x.amax(axis), x.amin(axis), x.std(axis)], dim=1),
        lambda: lambda x: torch.logsumexp(x, axis, keepdim=True) - x,
        lambda: lambda x: x.unfold(1, 2, 1).flatten(2),
    ])()  # fmt: skip
