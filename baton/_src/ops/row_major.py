"""Row-major order: the position of an element from its indices, its indices from the position, tensors along it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k


def flat_index(indices: Sequence[k.Scalar], shape: Sequence[Dim]) -> k.Scalar:
    """The position of an element in row-major order."""
    found = k.index(0)
    for position, (i, d) in enumerate(zip(indices, shape)):
        found = i if position == 0 else found * k.index(d) + i
    return found


def split_index(flat: k.Scalar, shape: Sequence[Dim]) -> list[k.Scalar]:
    """The indices of the element at a row-major position."""
    found: list[k.Scalar] = []
    outermost = next((n for n, dim in enumerate(shape) if not k.is_one(dim)), 0)
    for position in range(len(shape) - 1, -1, -1):
        extent = k.divisor(shape[position])
        found.insert(0, k.index(0) if k.is_one(shape[position]) else flat if position == outermost else flat % extent)
        flat = flat if k.is_one(shape[position]) else flat // extent
    return found


def element_count(shape: Sequence[Dim]) -> k.Scalar:
    """How many elements a tensor of this shape has."""
    return reduce(lambda total, dim: total * k.index(dim), shape, k.index(1))


def flattened(x: k.Tensor, count: Dim | None = None) -> k.Tensor:
    """All elements along one axis, of extent `count` if that is known better than as the product of the dims."""
    if x.ndim == 1:
        return x
    extent = element_count(x.shape) if count is None else count
    return k.compute((extent,), lambda i: x(*split_index(i, x.shape)), "flat")
