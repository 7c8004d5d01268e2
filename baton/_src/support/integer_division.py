"""Division of integers that rounds toward zero, as processors, C and ONNX divide; Python's `//` rounds down."""

from __future__ import annotations


def truncated_division(a: int, b: int) -> int:
    """The quotient rounded toward zero, exactly."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def truncated_remainder(a: int, b: int) -> int:
    """The remainder of `truncated_division`: the sign of `a`."""
    return a - b * truncated_division(a, b)
