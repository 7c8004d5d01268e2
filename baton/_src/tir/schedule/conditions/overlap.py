"""Whether one block writes what another one reads, by comparing their regions element by element.

Rows of a buffer are distinct if their indices provably differ: a step of a scan reads the row before its own, so its
writes do not change what it reads.
"""

from __future__ import annotations

from collections.abc import Iterable

from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion


def overwritten(regions: Iterable[BufferRegion], block: st.Block, other: st.Block) -> Buffer | None:
    """A buffer of which `other` writes elements that are in these regions of `block`; both are in the same blocks."""
    own = {axis.var for axis in (*other.iter_vars, *block.iter_vars)}
    for region in regions:
        for written in other.writes:
            if region.buffer is written.buffer and not _are_apart(region, written, own):
                return region.buffer
    return None


def _are_apart(one: BufferRegion, other: BufferRegion, own: set[tir.Var]) -> bool:
    """Whether the regions are provably disjoint in some dim, without using the blocks' own axes."""
    analyzer = Analyzer()
    for a, b in zip(one.region, other.region):
        if any(n in own for part in (a, b) for n in (*post_order(part.min), *post_order(part.extent))):
            continue
        ends = ((ops.add(a.min, a.extent), b.min), (ops.add(b.min, b.extent), a.min))
        if any(analyzer.can_prove(ops.build("less_equal", end, begin)) for end, begin in ends):
            return True
    return False
