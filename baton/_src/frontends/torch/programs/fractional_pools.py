"""Maxima of windows whose places are drawn, taken apart in PyTorch's terms: `nn.FractionalMaxPool2d` and `3d`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library


def fractional_pool(rank: int) -> Callable[..., Any]:
    """(the maxima, their places in the flattened plane) of planes with `rank` axes; one sample an axis and plane."""

    def take_apart(x: Any, kernel: Sequence[int], output: Sequence[int], samples: Any) -> Any:
        given = x if x.dim() == rank + 2 else x.unsqueeze(0)
        drawn = samples.unbind(-1)
        order = drawn if rank == 3 else tuple(reversed(drawn))  # width comes first for two axes, depth for three
        sizes = given.shape[-rank:]
        if not all(isinstance(n, int) for n in sizes):
            return NotImplemented
        places = _places(sizes, kernel, [_starts(*a) for a in zip(order, sizes, kernel, output, strict=True)])
        windows = given.flatten(2).gather(2, places.flatten(2)).view(places.shape).flatten(-rank)
        values, turns = windows.max(-1)
        found = places.flatten(-rank).gather(-1, turns.unsqueeze(-1)).squeeze(-1)
        return (values, found) if given is x else (values.squeeze(0), found.squeeze(0))

    return take_apart


def _starts(sample: Any, size: int, kernel: int, count: int) -> Any:
    """[batch, channels, count]: where windows begin, as the sample shifts them; the last one ends with the axis."""
    torch = torch_library()
    last = torch.full((*sample.shape, 1), size - kernel)
    if count == 1:
        return last
    apart = (size - kernel) / (count - 1)
    first = sample.unsqueeze(-1)
    whole = ((torch.arange(count - 1) + first) * apart).to(torch.int64) - (first * apart).to(torch.int64)
    return torch.cat((whole, last), -1)


def _places(sizes: Sequence[int], kernel: Sequence[int], starts: Sequence[Any]) -> Any:
    """[batch, channels, *windows, *kernel]: the places of all elements in the flattened plane."""
    torch = torch_library()
    rank = len(sizes)
    total: Any = 0
    for axis, (size, width, start) in enumerate(zip(sizes, kernel, starts, strict=True)):
        along = start.unsqueeze(-1) + torch.arange(width)
        shape = [*along.shape[:2], *[1] * (2 * rank)]
        shape[2 + axis], shape[2 + rank + axis] = along.shape[2], width
        total = total * size + along.reshape(shape)
    return total


def fractional_pool_backward(rank: int) -> Callable[..., Any]:
    def take_apart(gradient: Any, x: Any, kernel: Any, output: Any, places: Any) -> Any:
        flat = torch_library().zeros_like(x).flatten(-rank)
        return flat.scatter_add(-1, places.flatten(-rank), gradient.flatten(-rank)).view(x.shape)

    return take_apart
