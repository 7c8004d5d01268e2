"""Layout names: "NCHW", "NHWC", "NCHW16c", "OIHW16i16o". A capital is an axis, a number and its small letter a block
of it. A kernel's layout may block an axis twice, the larger part first: OIHW4i16o4i has blocks of 16 input channels, as
4 words of 4.

An `AxisOrder` says where the canonical axes of an operand lie; a channel is carried as (outer, inner, block) as long
as possible, so that blocked kernels read `data[n, co, h, w, ci]` without divisions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.ops.dims import DimMath
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

_PART = re.compile(r"(\d+)([a-z])|([A-Z])")


@dataclass(frozen=True)
class AxisOrder:
    """A parsed layout: `axes[i]` is (capital letter, block): block 0 for the whole or outer axis, else the block's
    size.
    """

    name: str
    axes: tuple[tuple[str, int], ...]

    @property
    def rank(self) -> int:
        return len(self.axes)

    def is_blocked(self, letter: str) -> bool:
        """Whether the axis is cut into blocks, be they of one element."""
        return any(size for a, size in self.axes if a == letter)

    def block(self, letter: str) -> int:
        """The block size of an axis; 1 if it is not blocked."""
        return prod(size for a, size in self.axes if a == letter and size)

    @property
    def is_plain(self) -> bool:
        """No axis is blocked."""
        return all(not size for _, size in self.axes)

    def position(self, letter: str) -> int:
        """The position of the (outer) axis."""
        return next(i for i, (a, size) in enumerate(self.axes) if a == letter and not size)

    def canonical(self, math: DimMath, shape: Sequence[Dim]) -> dict[str, Dim]:
        """The extent of every axis, blocks multiplied in. `DiagnosticError`: a block has another size."""
        found: dict[str, Dim] = {}
        for place, ((letter, size), dim) in enumerate(zip(self.axes, shape)):
            if size and math.equal(dim, size) is False:
                raise fail("op-shape", f"axis {place} has {dim} elements, a block of {size} in the layout {self.name}")
            found[letter] = dim if letter not in found else math.multiply(found[letter], dim)
        return found

    def physical(self, math: DimMath, extents: Mapping[str, Dim]) -> tuple[Dim, ...]:
        """The shape of an operand in this layout, of these extents. `DiagnosticError`: blocks do not divide one."""
        shape: list[Dim] = []
        for letter, size in self.axes:
            block, extent = self.block(letter), extents[letter]
            if block > 1 and math.divides(block, extent) is False:
                message = f"{extent} elements along {letter} cannot be cut into blocks of {block}"
                raise fail("op-shape", message, help=f"the result's layout is {self.name}: give one with other blocks")
            shape.append(size or (extent if block == 1 else math.floor_divide(extent, block)))
        return tuple(shape)

    def indices(self, at: Mapping[str, Place]) -> list[PrimExpr]:
        """Physical indices of canonical ones; a value may be a `Split`."""
        return [self._index(at[letter], place) for place, (letter, _) in enumerate(self.axes)]

    def _index(self, value: Place, place: int) -> PrimExpr:
        letter, size = self.axes[place]
        block = self.block(letter)
        if not self.is_blocked(letter):
            return whole(value)
        if isinstance(value, Split) and value.block == block:
            found = value.inner if size else value.outer
        else:
            flat = whole(value)
            found = flat % block if size else flat // block
        if not size or size == block:
            return found
        below = prod(s for a, s in self.axes[place + 1 :] if a == letter)
        return found // below if below * size == block else found // below % size if below > 1 else found % size

    def split(self, indices: Sequence[PrimExpr]) -> dict[str, Place]:
        """Canonical indices of physical ones; blocked axes come as `Split`s."""
        found: dict[str, Place] = {}
        for (letter, size), value in zip(self.axes, indices):
            if not size:
                found[letter] = value
        for (letter, size), value in zip(self.axes, indices):
            if size:
                found[letter] = Split(whole(found[letter]), value, size)
        return found


@dataclass(frozen=True)
class Split:
    """The index outer * block + inner."""

    outer: PrimExpr
    inner: PrimExpr
    block: int

    def flat(self) -> PrimExpr:
        return self.outer * self.block + self.inner


Place = PrimExpr | Split
"""The index along a canonical axis."""


def whole(place: Place) -> PrimExpr:
    """It as one expression."""
    return place.flat() if isinstance(place, Split) else place


@lru_cache(maxsize=256)
def parse_layout(name: str, nested: bool = False) -> AxisOrder:
    """A layout by its name, with `nested` one that may block an axis twice; `DiagnosticError` (`layout`) if it is
    none.
    """
    axes: list[tuple[str, int]] = []
    end = 0
    for match in _PART.finditer(name):
        if match.start() != end:
            break
        end = match.end()
        axes.append((match[3], 0) if match[3] else (match[2].upper(), int(match[1])))
    letters = [a for a, size in axes if not size]
    blocked = [a for a, size in axes if size]
    if end != len(name) or not axes or len(set(letters)) != len(letters) or not set(blocked) <= set(letters):
        raise fail("layout", f"{name!r} is not a layout", help='e.g. "NCHW", "NHWC", "NCHW16c", "OIHW16i16o"')
    if len(set(blocked)) != len(blocked) and not nested:
        raise fail("layout", f"{name!r} blocks an axis twice")
    return AxisOrder(name, tuple(axes))


def layout_over(name: str, letters: str, what: str, nested: bool = False) -> AxisOrder:
    """A layout that has exactly these axes."""
    found = parse_layout(name, nested)
    if sorted(a for a, size in found.axes if not size) != sorted(letters):
        raise fail("layout", f"{what} {name!r} must name the axes {', '.join(letters)}")
    cut = next((a for a, size in found.axes if size and a in "DHW"), None)
    if cut is not None:
        raise fail(
            "layout", f"{what} {name!r} cuts the axis {cut} into blocks", help="only N, C, O and I may have blocks"
        )
    return found
