"""`topi.utils`: layouts by name, and shapes of one layout in another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.driver.tvm_names.tir.layouts import Layout, layout
from baton._src.driver.tvm_names.topi.shapes import get_const_tuple
from baton._src.support.diagnostics import fail


class InvalidShapeError(ValueError):
    """A shape that a script's function of `topi` does not take."""


def nchw_pack_layout(layout_info: str) -> bool:
    """Whether the layout is NCHW with inner batches and channels, such as NCHW4n16c."""
    return layout_info.startswith("NCHW") and "c" in layout_info and "n" in layout_info


def nchw_xc_layout(layout_info: str) -> bool:
    """Whether the layout is NCHW with inner channels, such as NCHW16c."""
    return layout_info.startswith("NCHW") and "c" in layout_info and layout_info[4:-1].isnumeric()


def ncw_pack_layout(layout_info: str) -> bool:
    """Whether the layout is NCW with inner batches and channels, such as NCW4n16c."""
    return layout_info.startswith("NCW") and "c" in layout_info and "n" in layout_info


def ncw_xc_layout(layout_info: str) -> bool:
    """Whether the layout is NCW with inner channels, such as NCW16c."""
    return layout_info.startswith("NCW") and "c" in layout_info and layout_info[3:-1].isnumeric()


def get_shape(src_shape: Sequence[Any], src_layout: str | Layout, dst_layout: str | Layout) -> tuple[Any, ...]:
    """The shape in `dst_layout` of what has `src_shape` in `src_layout`; error `layout` unless the axes are the same
    ones in another order."""
    source, target = (one if isinstance(one, Layout) else layout(one) for one in (src_layout, dst_layout))
    if sorted(source.axes, key=str) != sorted(target.axes, key=str):
        raise fail("layout", f"{source} and {target} have different axes", help="tir.bijective_layout splits axes, too")
    return get_const_tuple(src_shape[source.axes.index(axis)] for axis in target.axes)
