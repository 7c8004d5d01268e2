"""Attributes of adaptive and global pooling, and what they ask for."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import ClassVar

from baton._src.ir.attrs import attr, attrs, set_attr
from baton._src.ops.nn.pooling.pooling import Pooled
from baton._src.ops.windows import SPATIAL
from baton._src.support.diagnostics import fail


@attrs
class AdaptivePoolAttrs(Pooled):
    """The extents of the result."""

    spatial: ClassVar[int] = 2

    output_size: tuple[int | None, ...] | None = attr(None, "spatial extents of the result; None keeps")
    layout: str = attr("", "layout of the data")
    out_layout: str = attr("", "layout of the result; empty: that of the data")

    def __post_init__(self) -> None:
        set_attr(self, "output_size", _extents(self.output_size, self.spatial))
        set_attr(self, "layout", self.layout or f"NC{SPATIAL[self.spatial]}")
        set_attr(self, "out_layout", self.out_layout or "")


def _extents(given: int | Iterable[int | None] | None, count: int) -> tuple[int | None, ...] | None:
    """An extent for each of `count` axes, or None where all are kept."""
    if isinstance(given, int):
        return (int(given),) * count
    size = tuple(None if n is None else operator.index(n) for n in given or ())
    if len(size) == 1:
        return size * count
    if size and len(size) != count:
        raise fail("op-attribute", f"output_size must have {count} numbers, got {size}")
    return size or None


@attrs
class AdaptivePool1DAttrs(AdaptivePoolAttrs):
    """One spatial axis (W)."""

    spatial: ClassVar[int] = 1


@attrs
class AdaptivePool3DAttrs(AdaptivePoolAttrs):
    """Three spatial axes (D, H, W)."""

    spatial: ClassVar[int] = 3


@attrs
class GlobalPoolAttrs(Pooled):
    """The layout."""

    spatial: ClassVar[int] = 2

    layout: str = attr("", "layout of the data")
    out_layout: str = attr("", "layout of the result; empty: that of the data")

    def __post_init__(self) -> None:
        set_attr(self, "layout", self.layout or f"NC{SPATIAL[self.spatial]}")
        set_attr(self, "out_layout", self.out_layout or "")

    @property
    def output_size(self) -> tuple[int, ...]:
        """Extent 1 everywhere."""
        return (1,) * self.spatial


@attrs
class GlobalPool1DAttrs(GlobalPoolAttrs):
    """One spatial axis (W)."""

    spatial: ClassVar[int] = 1


@attrs
class GlobalPool3DAttrs(GlobalPoolAttrs):
    """Three spatial axes (D, H, W)."""

    spatial: ClassVar[int] = 3


Adaptive = AdaptivePoolAttrs | GlobalPoolAttrs
