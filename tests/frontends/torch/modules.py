"""Small networks of the kinds that people have, of `torch.nn` alone. Weights come from a seed."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Residual(nn.Module):
    """Convolutions, batch normalisation with running statistics, a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=4)
        self.drop = nn.Dropout(0.4)
        self.head = nn.Linear(8, 5)

    def forward(self, image: Any) -> Any:
        x = functional.relu(self.norm(self.first(image)), inplace=True)
        x += self.second(x)
        x = functional.max_pool2d(x, 3, 2, 1)
        return self.head(self.drop(functional.adaptive_avg_pool2d(x, 1).flatten(1)))


class Tagger(nn.Module):
    """Embedding, two layers of LSTM in both directions, a classifier of every word."""

    def __init__(self, cell: str = "LSTM") -> None:
        super().__init__()
        self.words = nn.Embedding(20, 6, padding_idx=0)
        self.cells = getattr(nn, cell)(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(10, 4)

    def forward(self, words: Any) -> Any:
        outputs, _ = self.cells(self.words(words))
        return self.head(outputs).log_softmax(-1)


class Decoder(nn.Module):
    """A block of a language model: causal attention over a sequence of any length, tied embeddings."""

    def __init__(self, size: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.words, self.places = nn.Embedding(30, size), nn.Embedding(32, size)
        self.before, self.after = nn.LayerNorm(size), nn.LayerNorm(size)
        self.joined, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, words: Any) -> Any:
        batch, length = words.shape
        x = self.words(words) + self.places(torch.arange(length))
        parts = self.joined(self.before(x)).split(x.shape[-1], dim=2)
        q, k, v = (p.view(batch, length, self.heads, -1).transpose(1, 2) for p in parts)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).contiguous().view(batch, length, -1))
        x = x + self.narrow(functional.gelu(self.wide(self.after(x)), approximate="tanh"))
        return x @ self.words.weight.t()


class Unet(nn.Module):
    """Down, up by a transposed convolution and by interpolation, joined with what came before."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.Conv2d(4, 8, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.norm = nn.GroupNorm(2, 4)
        self.out = nn.Conv2d(6, 1, 1)

    def forward(self, image: Any) -> Any:
        shallow = functional.silu(self.down(image))
        deep = functional.leaky_relu(self.deep(shallow), 0.1)
        x = self.norm(self.up(deep)) + shallow
        x = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.out(torch.cat((x, image), dim=1)))


def encoder() -> nn.Module:
    """PyTorch's own layer, with a mask of padding."""
    return nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, activation="gelu", norm_first=True)


def seeded(make: Any) -> Any:
    """A module in evaluation mode with weights, and statistics, that are the same in every run."""
    module = make().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for tensor in [*module.parameters(), *module.buffers()]:
            if tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape, generator=generator) * 0.8 - 0.3)
        for name, tensor in module.named_buffers():
            if name.endswith("running_var"):
                tensor.abs_().add_(0.5)
    return module
