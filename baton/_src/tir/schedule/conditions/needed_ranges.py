"""For which values of its axes a block has to run so that it makes, or uses, a part of a buffer.

B[vi, vj] = ...                          rows 4 to 8 of B: vi in [4, 8)
B[vi // 16, vi % 16] = ...               row n of B: vi in [n * 16, n * 16 + 16)
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from baton._src.ir.expr import Range
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.arith.iterators.iter_map import invert
from baton._src.tir.buffer import BufferRegion
from baton._src.tir.schedule.conditions.stored_ranges import ends
from baton._src.tir.schedule.tree import is_equal, refuse, simplify


def ranges_of(block: st.Block, wanted: list[BufferRegion], before: bool, analyzer: Analyzer) -> dict[tir.Var, Range]:
    """The ranges of a block's axes that touch the `wanted` regions, as far as those fix them.

    A block that stands `before` those who want its results makes all of them: it runs for what any region touches. One
    behind uses all of the regions at once: it runs for what each of them has; refused if that cannot be told. The
    `analyzer` knows the loops around.
    """
    axes = {axis.var: axis.dom for axis in block.iter_vars if axis.dom is not None}
    shared = block.writes if before else block.reads
    parts = [_ranges(own, region, axes, before) for region in wanted for own in shared if own.buffer is region.buffer]
    if before:
        fixed = {var for var in axes if parts and all(var in part for part in parts)}
        return {var: functools.reduce(_hull, [part[var] for part in parts]) for var in axes if var in fixed}
    found: dict[tir.Var, Range] = {}
    for var, range_ in (item for part in parts for item in part.items()):
        found[var] = _common(block, var, found[var], range_, analyzer) if var in found else range_
    return found


def _hull(one: Range, other: Range) -> Range:
    """The smallest range that has both."""
    (low, high), (start, end) = ends(one), ends(other)
    if is_equal(low, start) and is_equal(high, end):
        return one
    first = simplify(ops.min(low, start))
    return Range(first, simplify(ops.subtract(ops.max(high, end), first)))


def _common(block: st.Block, var: tir.Var, one: Range, other: Range, analyzer: Analyzer) -> Range:
    """The one of two ranges that lies in the other."""
    for inner, outer in ((one, other), (other, one)):
        (low, high), (start, end) = ends(outer), ends(inner)
        if analyzer.prove(ops.less_equal(low, start)) and analyzer.prove(ops.less_equal(end, high)):
            return inner
    raise refuse(f"what block {block.name_hint} reads for {var.name} is made in different iterations")


def _ranges(
    own: BufferRegion, region: BufferRegion, axes: Mapping[tir.Var, Range], before: bool
) -> dict[tir.Var, Range]:
    """The ranges of axes that touch one region of what is `own`."""
    found, whole = _match(own, region, axes)
    if whole or not before:
        return found
    return _through_map(own, region, axes) | found


def _match(own: BufferRegion, region: BufferRegion, axes: Mapping[tir.Var, Range]) -> tuple[dict[tir.Var, Range], bool]:
    """The ranges of axes that are indices, and whether all indices are axes."""
    ranges: dict[tir.Var, Range] = {}
    whole = True
    for mine, asked in zip(own.region, region.region):
        one = ops.is_const(mine.extent, 1)
        is_axis = one and isinstance(mine.min, tir.Var) and mine.min in axes
        whole &= is_axis
        if is_axis and mine.min not in ranges:
            assert isinstance(mine.min, tir.Var)
            dtype = mine.min.dtype  # indices of another width may ask for it
            ranges[mine.min] = Range(ops.cast(dtype, asked.min), ops.cast(dtype, asked.extent))
    return ranges, whole


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
