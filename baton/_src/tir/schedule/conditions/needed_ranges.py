"""For which values of its axes a block has to run so that it makes, or uses, a part of a buffer.

B[vi, vj] = ...                          rows 4 to 8 of B: vi in [4, 8)
B[vi // 16, vi % 16] = ...               row n of B: vi in [n * 16, n * 16 + 16)
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import Range
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.arith.iterators.iter_map import invert
from baton._src.tir.buffer import BufferRegion


def ranges_of(block: st.Block, wanted: list[BufferRegion], before: bool) -> dict[tir.Var, Range]:
    """The ranges of a block's axes that touch the `wanted` regions, as far as those fix them."""
    ranges: dict[tir.Var, Range] = {}
    axes = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    for region in wanted:
        for own in block.writes if before else block.reads:
            if own.buffer is region.buffer and not _match(own, region, axes, ranges) and before:
                ranges |= {var: part for var, part in _through_map(own, region, axes).items() if var not in ranges}
    return ranges


def _match(
    own: BufferRegion, region: BufferRegion, axes: Mapping[tir.Var, Range], ranges: dict[tir.Var, Range]
) -> bool:
    """Add the ranges of axes that are indices; gives whether all indices are axes."""
    whole = True
    for mine, asked in zip(own.region, region.region):
        one = ops.is_const(mine.extent, 1)
        is_axis = one and isinstance(mine.min, tir.Var) and mine.min in axes
        whole &= is_axis
        if is_axis and mine.min not in ranges:
            assert isinstance(mine.min, tir.Var)
            dtype = mine.min.dtype  # indices of another width may ask for it
            ranges[mine.min] = Range(ops.cast(dtype, asked.min), ops.cast(dtype, asked.extent))
    return whole


def _through_map(own: BufferRegion, region: BufferRegion, axes: Mapping[tir.Var, Range]) -> dict[tir.Var, Range]:
    """Ranges of the axes of a one-to-one map that cover a region of its results; none if the indices are none."""
    if not all(ops.is_const(mine.extent, 1) for mine in own.region):
        return {}
    used = {var: axes[var] for mine in own.region for var in post_order(mine.min) if var in axes}
    places = [tir.Var(f"place{n}", mine.min.dtype) for n, mine in enumerate(own.region)]
    inverse = invert([mine.min for mine in own.region], places, used) or {}
    asked = dict(zip(places, region.region))
    found: dict[tir.Var, Range] = {}
    for var, value in inverse.items():
        values = eval_set(value, asked)
        extent = values.extent()
        if values.min is not None and isinstance(extent, tir.IntImm):
            found[var] = Range(ops.cast(var.dtype, values.min), ops.cast(var.dtype, extent))
    return found
