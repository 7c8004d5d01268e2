"""Scans in PyTorch's terms: what is made of all elements up to each one, in log2(length) steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.frontends.torch.library import torch_library

Scanned = tuple[Any, ...]
"""Tensors of one shape that are scanned together."""


LONGEST = 2**36
"""What axes of open length may have at most: no memory holds more."""


def scanned(x: Scanned, dim: int, joined: Callable[[Scanned, Scanned], Scanned]) -> Scanned:
    """What `joined` makes of all elements up to each one, in log2(length) steps."""
    torch = torch_library()
    length, reach = x[0].shape[dim], 1
    if not isinstance(length, int):
        return _of_open_length(x, dim, joined)
    while reach < length:
        before = tuple(part.narrow(dim, 0, length - reach) for part in x)
        here = tuple(part.narrow(dim, reach, length - reach) for part in x)
        both = joined(before, here)
        x = tuple(torch.cat((a.narrow(dim, 0, reach), b), dim) for a, b in zip(x, both, strict=True))
        reach *= 2
    return x


def _of_open_length(x: Scanned, dim: int, joined: Callable[[Scanned, Scanned], Scanned]) -> Scanned:
    """As many steps as the longest axis needs; elements that have nothing so far before them stay."""
    torch = torch_library()
    length, reach = x[0].shape[dim], 1
    places = torch.arange(length)
    along = places.reshape([-1 if axis == dim % x[0].dim() else 1 for axis in range(x[0].dim())])
    while reach < _longest(length):
        source = (places - reach).clamp(min=0)
        both = joined(tuple(part.index_select(dim, source) for part in x), x)
        x = tuple(torch.where(along >= reach, b, a) for a, b in zip(x, both, strict=True))
        reach *= 2
    return x


def _longest(length: Any) -> int:
    """What the program says that an open size is at most."""
    most = length.node.shape_env.bound_sympy(length.node.expr).upper
    return int(most) if most.is_number and most.is_finite and most < LONGEST else LONGEST
