"""`Pair`: a complex tensor during import; the languages only have real ones."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.node import AtenNode
from baton._src.support.dataclass import dataclass

PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
"""The dtype of the parts of each complex dtype."""


@dataclass(frozen=True)
class Pair:
    """The real and the imaginary part, of one shape and dtype."""

    real: Value
    imag: Value


@dataclass(frozen=True)
class Part:
    """PyTorch's description of a part of a complex result."""

    shape: Any
    dtype: Any


def part_of(expected: Any) -> Any:
    """PyTorch's result, or the description of its parts if it is complex."""
    name = str(getattr(expected, "dtype", "")).removeprefix("torch.")
    return Part(expected.shape, getattr(torch_library(), PARTS[name])) if name in PARTS else expected


def has_pair(given: Any) -> bool:
    """Whether a complex tensor or number is among arguments."""
    if isinstance(given, (list, tuple)):
        return any(has_pair(g) for g in given)
    return isinstance(given, (Pair, complex))


def pair_of(node: AtenNode, x: Any) -> Pair:
    """A tensor or number as a pair in the dtype of the result's parts."""
    if isinstance(x, Pair):
        return Pair(*(node.tensor(p, node.dtype) for p in (x.real, x.imag)))
    if isinstance(x, complex):
        return Pair(node.tensor(x.real, node.dtype), node.tensor(x.imag, node.dtype))
    real = node.tensor(x, node.dtype)
    zero = node.graph.constant(0, node.dtype)
    return Pair(real, node.graph.broadcast_to(zero, node.sizes(real)) if real.rank else zero)
