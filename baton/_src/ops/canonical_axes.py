"""Arrays of NumPy in any layout, with their axes in one order, and images of them: what references compute on."""

from __future__ import annotations

from typing import SupportsInt

import numpy as np

from baton._src.ops.layout_names import AxisOrder
from baton._src.values.tensor import AnyArray


def image_of(images: AnyArray, number: SupportsInt) -> AnyArray:
    """One of a batch. Raises `IndexError` for a number that is none, as kernels do: none counts from the end."""
    if not 0 <= int(number) < len(images):
        raise IndexError(f"image {number} of {len(images)}")
    found: AnyArray = images[int(number)]
    return found


def to_canonical(x: AnyArray, order: AxisOrder, letters: str) -> AnyArray:
    """`x` with the axes `letters` in this order, blocks merged."""
    axes: list[int] = []
    shape: list[int] = []
    for letter in letters:
        positions = [i for i, (a, _) in enumerate(order.axes) if a == letter]
        positions.sort(key=lambda i: bool(order.axes[i][1]))
        axes += positions
        shape.append(int(np.prod([x.shape[i] for i in positions])))
    return x.transpose(axes).reshape(shape)


def from_canonical(x: AnyArray, order: AxisOrder, letters: str) -> AnyArray:
    """The inverse of `to_canonical`."""
    shape: list[int] = []
    where: dict[tuple[str, bool], int] = {}
    for letter, extent in zip(letters, x.shape):
        block = order.block(letter)
        where[letter, False] = len(shape)
        shape.append(extent // block)
        if order.is_blocked(letter):
            where[letter, True] = len(shape)
            shape.append(block)
    return np.ascontiguousarray(x.reshape(shape).transpose([where[a, bool(size)] for a, size in order.axes]))
