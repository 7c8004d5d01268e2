"""Sliding windows: normal forms of strides and padding, output extents, and the padding stage of te computations.

Shared by convolution and pooling. Padding attributes: one number for all sides, one per spatial axis (both sides), or
all begins then all ends (top, left, bottom, right). Source: facts relax-ops-passes-vm §1 (nn), relay-language §6
level 2.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath
from baton._src.ops.layout_names import AxisOrder
from baton._src.support.diagnostics import fail
from baton._src.te.tag import PAD_TAG, default_tag
from baton._src.tir.block_annotations import WINDOWS
from baton._src.values.tensor import AnyArray

Numbers = SupportsIndex | Iterable[SupportsIndex]
"""One number for all axes or sides, or several."""
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _numbers(value: Numbers) -> tuple[int, ...]:
    if isinstance(value, SupportsIndex) and not isinstance(value, Iterable):
        return (operator.index(value),)
    return tuple(operator.index(v) for v in value)


def per_axis(value: Numbers, count: int, name: str) -> tuple[int, ...]:
    """A number for each of `count` spatial axes."""
    found = _numbers(value)
    if len(found) == 1:
        found *= count
    if len(found) != count:
        raise fail("op-attribute", f"{name} must have {count} numbers, got {found}")
    return found


def steps(value: Numbers, count: int, name: str) -> tuple[int, ...]:
    """Windows, strides or dilation: a number above 0 for each of `count` spatial axes."""
    found = per_axis(value, count, name)
    if any(step < 1 for step in found):
        raise fail("op-attribute", f"{name} must be 1 or more, got {found}")
    return found


def both_sides(value: Numbers, count: int) -> tuple[int, ...]:
    """Padding as all begins, then all ends."""
    found = _numbers(value)
    if len(found) == 1:
        return found * (2 * count)
    if len(found) == count:
        return found * 2
    if len(found) != 2 * count:
        raise fail("op-attribute", f"padding must have 1, {count} or {2 * count} numbers, got {found}")
    return found


def window_extent(
    math: DimMath, extent: Dim, window: Dim, stride: int, dilation: int, begin: int, end: int, ceil_mode: bool = False
) -> Dim:
    """How many windows fit: (extent + begin + end - (window - 1) * dilation - 1) / stride + 1.

    With `ceil_mode` rounded up, but never so that a window starts in the end padding.
    """
    reach = math.add(math.multiply(math.subtract(window, 1), dilation), 1)
    room = math.subtract(math.add(extent, begin + end), reach)
    if not ceil_mode or stride == 1:
        return math.add(room if stride == 1 else math.floor_divide(room, stride), 1)
    found = math.add(math.ceil_divide(room, stride), 1)
    if isinstance(found, int) and isinstance(extent, int):
        return found - 1 if (found - 1) * stride >= extent + begin else found
    if isinstance(reach, int) and end + stride <= reach:  # The last window starts before the end padding.
        return found
    return math.minimum(found, math.ceil_divide(math.add(extent, begin), stride))


def windows(shape: Sequence[Dim], order: AxisOrder, letters: str) -> dict[str, list[PrimExpr]]:
    """The attribute of a computation of `shape`, if any of its spatial axes is of open size."""
    found = [shape[order.position(letter)] for letter in letters]
    counted = [dim for dim in found if not isinstance(dim, int)]
    return {WINDOWS: counted} if counted else {}


def np_padded(x: AnyArray, widths: Sequence[tuple[int, int]], fill: npt.ArrayLike = 0) -> AnyArray:
    """`numpy.pad` by (before, after) for every axis; negative widths crop."""
    bordered = np.pad(x, [(max(b, 0), max(e, 0)) for b, e in widths], constant_values=fill)
    return bordered[tuple(slice(max(-b, 0), d - max(-e, 0)) for d, (b, e) in zip(bordered.shape, widths))]


def padded(
    x: k.Tensor,
    order: AxisOrder,
    letters: str,
    begins: Sequence[int],
    ends: Sequence[int],
    fill: k.Scalar | float,
    name: str = "pad_temp",
    axes: str | None = None,
) -> k.Tensor:
    """`x` with a border of `fill` around its spatial axes; `x` itself if there is none."""
    if not any(begins) and not any(ends):
        return x
    at = {order.position(letter): (b, e) for letter, b, e in zip(letters, begins, ends)}
    shape = [d + (at[i][0] + at[i][1]) if i in at and any(at[i]) else d for i, d in enumerate(x.shape)]

    def body(*indices: k.Scalar) -> k.Scalar:
        where = list(indices)
        inside: list[k.Scalar] = []
        for axis, (begin, end) in at.items():
            where[axis] = indices[axis] - begin if begin else indices[axis]
            if begin:
                inside.append(indices[axis] >= k.index(begin))
            if end:
                inside.append(indices[axis] < k.index(x.shape[axis]) + begin)
        value = x(*where)
        return k.if_then_else(
            k.all_of(inside), value, k.const(fill, x.dtype) if not isinstance(fill, k.PrimExpr) else fill
        )

    with default_tag(PAD_TAG):
        return k.compute(shape, body, name, axes=axes)
