"""Valid shapes of tensors: no dim is negative, and the size in bytes fits an int64."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from baton._src.support.diagnostics import fail

_MOST_ELEMENTS = 2**59
"""Most elements, of 16 bytes each: beyond them, byte offsets do not fit an int64."""


def size_fault(shape: Sequence[int]) -> str:
    """Why no tensor can have this shape; empty if one can.

    NumPy would read a negative dim as "the rest", and limits the other dims of an empty array, too.
    """
    if shape and min(shape) < 0:
        return "of negative size"
    elements = math.prod(shape) or math.prod(d or 1 for d in shape)
    return "larger than any memory" if elements > _MOST_ELEMENTS else ""


def extents(shape: Iterable[int]) -> tuple[int, ...]:
    """The dims for a new tensor; `value-mismatch` if no tensor can have them."""
    found = tuple(shape)
    fault = size_fault(found)
    if fault:
        raise fail("value-mismatch", f"a tensor cannot have shape {found}: it would be {fault}")
    return found
