"""CompactBufferAllocation: shrink the buffers of blocks to the region that is accessed there.

    for i in 16: { C = alloc (128,); for j in 8: C[i * 8 + j] = ...; for j in 8: ... = C[i * 8 + j] }
    ->  for i in 16: { C = alloc (8,); for j in 8: C[j] = ...; for j in 8: ... = C[j] }

Rows are aligned as the annotation `buffer_dim_align` requires.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order, rewrite
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.passes.tir.storage_alignment import Alignment, aligned_strides, alignments
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import point_regions, pointer_arguments
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class CompactBufferAllocation(PrimFuncPass):
    """Each buffer that a block allocates holds what is accessed in one instance of the block. Takes blocks without axes
    inside (`ConvertBlocksToOpaque`). Buffers that are also used through pointers, or declared again, are unchanged.

    `is_strict`: buffers only shrink; else those that are accessed outside of their shape grow to hold all of it.
    """

    is_strict: bool = True

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        if any(isinstance(n, st.Block) and n.iter_vars for n in post_order(body)):
            raise fail("tir-opaque", "blocks still have axes", help="run ConvertBlocksToOpaque first")
        wanted = alignments(body)

        def compacted(node: Any) -> st.Block | None:
            is_home = isinstance(node, st.Block) and node.alloc_buffers
            return _compacted(node, wanted, self.is_strict) if is_home else None

        found: st.Stmt = rewrite(body, compacted)
        return found


def _compacted(block: st.Block, wanted: dict[tir.Var, Alignment], is_strict: bool) -> st.Block | None:
    covered = _accessed(block)
    changed: dict[Buffer, tuple[Buffer, list[PrimExpr]]] = {}
    for buffer in block.alloc_buffers:
        if buffer.strides or buffer.elem_offset is not None or buffer not in covered:
            continue
        starts, extents = _fitting(buffer, covered[buffer], is_strict)
        alignment = wanted.get(buffer.data)
        whole = all(a is b for a, b in zip(extents, buffer.shape)) and all(ops.is_const(s, 0) for s in starts)
        if not whole or alignment:
            strides = aligned_strides(extents, alignment) if alignment else ()
            changed[buffer] = (buffer.with_fields(shape=extents, strides=strides), starts)
    if not changed:
        return None
    body = rewrite(block.body, lambda node: _shifted(node, changed))
    buffers = tuple(changed[b][0] if b in changed else b for b in block.alloc_buffers)
    return block.with_fields(alloc_buffers=buffers, body=body)


def _accessed(block: st.Block) -> dict[Buffer, list[BufferRegion]]:
    """The accessed regions of the buffers that `block` allocates, for those whose accesses are all loads, stores and
    views.
    """
    order = post_order(block.body)
    reads, writes = point_regions(block.body)
    views = [n.source for n in order if isinstance(n, st.MatchBufferRegion)]
    opaque = {*pointer_arguments(block.body)} | {r.buffer.data for r in views}
    buffers = {n for n in order if isinstance(n, Buffer)}
    found: dict[Buffer, list[BufferRegion]] = {}
    for region in (*reads, *writes):
        found.setdefault(region.buffer, []).append(region)
    own = {b.data for b in block.alloc_buffers}
    several = {b.data for b in buffers if b.data in own and b not in block.alloc_buffers}
    return {b: regions for b, regions in found.items() if b.data not in opaque | several}


def _fitting(
    buffer: Buffer, regions: list[BufferRegion], is_strict: bool
) -> tuple[list[PrimExpr], tuple[PrimExpr, ...]]:
    """The start and shape of the part of a buffer that holds `regions`; the whole axis where that is not known."""
    analyzer = Analyzer()
    starts: list[PrimExpr] = []
    extents: list[PrimExpr] = []
    for axis, dim in enumerate(buffer.shape):
        hull = _hull(analyzer, [r.region[axis] for r in regions])
        extent = None if hull is None else tir.literal(hull[1], dim.dtype)
        if hull is None or extent is None or (is_strict and not analyzer.prove(ops.less(extent, dim))):
            hull, extent = (tir.literal(0, dim.dtype), 0), dim
        starts.append(hull[0])
        extents.append(extent)
    return starts, tuple(extents)


def _hull(analyzer: Analyzer, ranges: list[Range]) -> tuple[PrimExpr, int] | None:
    """(start, extent) of the smallest range that contains others, if their distances are constant."""
    first = ranges[0].min
    low, high = 0, 0
    for part in ranges:
        gap = analyzer.simplify(ops.subtract(part.min, first))
        size = analyzer.simplify(part.extent)
        if not isinstance(gap, tir.IntImm) or not isinstance(size, tir.IntImm):
            return None
        low, high = min(low, gap.value), max(high, gap.value + size.value)
    return analyzer.simplify(ops.add(first, low)), high - low


def _shifted(node: Node, changed: dict[Buffer, tuple[Buffer, list[PrimExpr]]]) -> Any:
    if not isinstance(node, tir.BufferLoad | st.BufferStore | BufferRegion) or node.buffer not in changed:
        return None
    buffer, starts = changed[node.buffer]
    analyzer = Analyzer()
    if isinstance(node, BufferRegion):
        ranges = (Range(analyzer.simplify(ops.subtract(r.min, s)), r.extent) for r, s in zip(node.region, starts))
        return node.with_fields(buffer=buffer, region=tuple(ranges))
    indices = tuple(analyzer.simplify(ops.subtract(i, s)) for i, s in zip(node.indices, starts))
    return node.with_fields(buffer=buffer, indices=indices)


__all__ = ["CompactBufferAllocation"]
