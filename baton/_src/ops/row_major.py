"""Row-major order: the position of an element from its indices, and its indices from the position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ops import kernel_words as k


def flat_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The position of an element in row-major order."""
    found: Any = k.index(0)
    for position, (i, d) in enumerate(zip(indices, shape)):
        found = i if position == 0 else found * _extent(d) + i
    return found


def split_index(flat: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of the element at a row-major position."""
    found: list[Any] = []
    for position in range(len(shape) - 1, -1, -1):
        extent = _extent(shape[position])
        found.insert(0, k.index(0) if k.is_one(shape[position]) else flat if position == 0 else flat % extent)
        flat = flat if k.is_one(shape[position]) else flat // extent
    return found


def _extent(dim: Any) -> Any:
    """A dim as a divisor: an empty axis has no elements to find, so 1 does."""
    found = k.index(dim)
    return k.index(1) if isinstance(found, k.tir.IntImm) and found.value == 0 else found
