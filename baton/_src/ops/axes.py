"""Axes: in range, counted from the front, not repeated."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import SupportsIndex

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import OpCall


def normal_axis(call: OpCall[Attrs], axis: object, ndim: int, name: str = "axis") -> int:
    """`axis` counted from the front; an error unless it is an integer in [-ndim, ndim)."""
    help = f"use -{ndim} to {ndim - 1}" if ndim else "a scalar has no axes"
    if not isinstance(axis, int) or isinstance(axis, bool):
        call.fail(f"{name} is an integer, got {axis!r}", code="op-axis", help=help)
    if not -ndim <= axis < ndim:
        call.fail(f"{name} {axis} is out of range for rank {ndim}", code="op-axis", help=help)
    return axis + ndim if axis < 0 else axis


def normal_axes(call: OpCall[Attrs], axes: Iterable[object], ndim: int, name: str = "axis") -> tuple[int, ...]:
    """The same for several; an error also if two of them are the same axis."""
    found = tuple(normal_axis(call, a, ndim, name) for a in axes)
    if len(set(found)) != len(found):
        call.fail(f"{name} {tuple(axes)} names an axis twice", code="op-axis")
    return found


def as_axes(axis: SupportsIndex | Iterable[SupportsIndex] | None) -> tuple[int, ...] | None:
    """For attributes: one axis or several as a tuple; None stays None."""
    if axis is None:
        return None
    return tuple(axis_number(a) for a in axis) if isinstance(axis, Iterable) else (axis_number(axis),)


def axis_number(axis: SupportsIndex) -> int:
    """An axis as a Python int. Bools are refused, though Python would accept them as integers."""
    if isinstance(axis, bool):
        raise TypeError(f"an axis is an integer, got {axis!r}")
    return operator.index(axis)


def from_front(axis: int, ndim: int) -> int:
    """`axis`, known to be in range, counted from the front."""
    return axis + ndim if axis < 0 else axis
