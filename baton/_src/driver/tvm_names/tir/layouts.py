"""Named tensor layouts and conversions between them: `tvm.tir.layout("NCHW16c")`.

A capital letter is an axis, a small one with a number the inner part of the axis it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import operators
from baton._src.tir.arith.analyzer import Analyzer


class Layout:
    """The axes in order; `layout[i]` is the letter of the i-th one."""

    def __init__(self, name: str, dtype: str = "int32") -> None:
        found = re.findall(r"(\d*)([A-Za-z])", name)
        letters = [letter for _, letter in found]
        faults = [n + a for n, a in found if bool(n) != a.islower() or (a.islower() and a.upper() not in letters)]
        if "".join(n + a for n, a in found) != name or faults or len(set(letters)) != len(letters):
            raise fail("layout", f"{name!r} is not a layout", help='e.g. "NCHW" or "NCHW16c"')
        self.name, self.dtype = name, dtype
        self.axes: tuple[tuple[str, int | None], ...] = tuple(
            (str(letter), int(number) if number else None) for number, letter in found
        )

    def __len__(self) -> int:
        return len(self.axes)

    def __contains__(self, axis: object) -> bool:
        return any(letter == axis for letter, _ in self.axes)

    def __getitem__(self, index: int) -> str:
        return self.axes[index][0]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"Layout({self.name})"

    def index_of(self, axis: str) -> int:
        """The position of an axis; -1 if the layout does not have it."""
        return next((i for i, (letter, _) in enumerate(self.axes) if letter == axis), -1)

    def factor_of(self, axis: str) -> int:
        """The size of the inner part of an axis; -1 if it has none."""
        return next((size for letter, size in self.axes if size is not None and letter == axis.lower()), -1)


class BijectiveLayout:
    """Indices and shapes of one layout in another of the same axes."""

    def __init__(self, src_layout: Layout | str, dst_layout: Layout | str) -> None:
        self.src_layout = src_layout if isinstance(src_layout, Layout) else Layout(src_layout)
        self.dst_layout = dst_layout if isinstance(dst_layout, Layout) else Layout(dst_layout)
        if {a.upper() for a, _ in self.src_layout.axes} != {a.upper() for a, _ in self.dst_layout.axes}:
            raise fail("layout", f"{self.src_layout} and {self.dst_layout} have different axes")

    def forward_index(self, index: Sequence[Any]) -> list[PrimExpr]:
        """The index in the destination of the source's element at `index`."""
        return _index(self.src_layout, self.dst_layout, index)

    def backward_index(self, index: Sequence[Any]) -> list[PrimExpr]:
        """The index in the source of the destination's element at `index`."""
        return _index(self.dst_layout, self.src_layout, index)

    def forward_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """The shape in the destination of what has `shape` in the source."""
        return _shape(self.src_layout, self.dst_layout, shape)

    def backward_shape(self, shape: Sequence[Any]) -> list[PrimExpr]:
        """The shape in the source of what has `shape` in the destination."""
        return _shape(self.dst_layout, self.src_layout, shape)


def _whole(layout: Layout, given: Sequence[Any], combine: Any) -> dict[str, PrimExpr]:
    """What each axis has as a whole, `combine(outer, inner, size)` where it is split."""
    if len(given) != len(layout):
        raise fail("layout", f"{layout} has {len(layout)} axes, and {len(given)} numbers are given")
    values = {letter: operators.convert(v) for (letter, _), v in zip(layout.axes, given)}
    sizes = dict(layout.axes)
    return {
        a: combine(v, values[a.lower()], sizes[a.lower()]) if a.lower() in values else v
        for a, v in values.items()
        if a.isupper()
    }


def _index(source: Layout, target: Layout, index: Sequence[Any]) -> list[PrimExpr]:
    whole = _whole(source, index, lambda outer, inner, size: outer * size + inner)
    found = []
    for letter, size in target.axes:
        value, inner = whole[letter.upper()], target.factor_of(letter)
        if size is not None:
            value = operators.floormod(value, size)
        elif inner != -1:
            value = operators.floordiv(value, inner)
        found.append(Analyzer().simplify(value))
    return found


def _shape(source: Layout, target: Layout, shape: Sequence[Any]) -> list[PrimExpr]:
    whole = _whole(source, shape, lambda outer, inner, size: outer * size)
    found = []
    for letter, size in target.axes:
        inner = target.factor_of(letter)
        value = whole[letter.upper()]
        if size is not None:
            value = operators.convert(size)
        elif inner != -1:
            value = operators.ceildiv(value, inner)
        found.append(Analyzer().simplify(value))
    return found


def layout(layout_str: str | Layout, dtype: str = "int32") -> Layout:
    """The layout of this name, or the one given; error `layout` for invalid names."""
    return layout_str if isinstance(layout_str, Layout) else Layout(layout_str, dtype)


def bijective_layout(src_layout: str | Layout, dst_layout: str | Layout) -> BijectiveLayout:
    """The mapping between two layouts of the same axes; error `layout` for others."""
    return BijectiveLayout(src_layout, dst_layout)
