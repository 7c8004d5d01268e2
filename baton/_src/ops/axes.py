"""Axes: in range, counted from the front, not repeated."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from baton._src.ir.op_def import OpCall


def normal_axis(call: OpCall[Any], axis: int, ndim: int, name: str = "axis") -> int:
    """`axis` counted from the front; an error unless it lies in [-ndim, ndim)."""
    if not -ndim <= axis < ndim:
        call.fail(f"{name} {axis} is out of range for rank {ndim}", code="op-axis", help=f"use -{ndim} to {ndim - 1}")
    return axis + ndim if axis < 0 else axis


def normal_axes(call: OpCall[Any], axes: Iterable[int], ndim: int, name: str = "axis") -> tuple[int, ...]:
    """The same for several; an error also if two of them are the same axis."""
    found = tuple(normal_axis(call, a, ndim, name) for a in axes)
    if len(set(found)) != len(found):
        call.fail(f"{name} {tuple(axes)} names an axis twice", code="op-axis")
    return found


def as_axes(axis: int | Iterable[int] | None) -> tuple[int, ...] | None:
    """For attributes: one axis or several as a tuple; None stays None."""
    if axis is None:
        return None
    return tuple(operator.index(a) for a in axis) if isinstance(axis, Iterable) else (operator.index(axis),)


def from_front(axis: int, ndim: int) -> int:
    """`axis`, known to be in range, counted from the front."""
    return axis + ndim if axis < 0 else axis
