"""Scans in PyTorch's terms: what is made of all elements up to each one, in log2(length) steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library

Scanned = tuple[Any, ...]
"""Tensors of one shape that are scanned together."""


def scanned(x: Scanned, dim: int, joined: Callable[[Scanned, Scanned], Scanned]) -> Scanned:
    """What `joined` makes of all elements up to each one, in log2(length) steps. The length must be known."""
    torch = torch_library()
    length, reach = x[0].shape[dim], 1
    while reach < length:
        before = tuple(part.narrow(dim, 0, length - reach) for part in x)
        here = tuple(part.narrow(dim, reach, length - reach) for part in x)
        both = joined(before, here)
        x = tuple(torch.cat((a.narrow(dim, 0, reach), b), dim) for a, b in zip(x, both, strict=True))
        reach *= 2
    return x
