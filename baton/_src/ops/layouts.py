"""What an operator does to layouts: the facet that layout passes ask.

`follows_input(axis="axis")`: takes its operand in any layout and gives its result in the same, with the attribute
`axis` renumbered. `anchor(...)`: has layout attributes of its own and decides (convolution, pooling).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FollowsInput:
    """Elementwise in all but the axes named by attributes (`axis`: the attribute's name, or None)."""

    axis: str | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
    """An operator with layout attributes: `data` names that of operand 0, `kernel` that of operand 1, `out` the
    result's.
    """

    data: str
    kernel: str | None = None
    out: str | None = None


def follows_input(axis: str | None = None) -> FollowsInput:
    return FollowsInput(axis)


def anchor(data: str, kernel: str | None = None, out: str | None = None) -> Anchor:
    return Anchor(data, kernel, out)
