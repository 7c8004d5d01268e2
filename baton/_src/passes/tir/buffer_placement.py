"""Where buffers of blocks are allocated, and how large they are.

PlanAndUpdateBufferAllocationLocation   as deep in the loops as all accesses allow
CompactBufferAllocation                 only as large as what is accessed there

C = alloc (128,); for i in 16: { for j in 8: C[i * 8 + j] = ...; for j in 8: ... = C[i * 8 + j] }
->  for i in 16: { C = alloc (8,); for j in 8: C[j] = ...; for j in 8: ... = C[j] }
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import children, post_order, rebuild, rewrite
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion, constant_shape
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.regions import point_regions
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class PlanAndUpdateBufferAllocationLocation(PrimFuncPass):
    """A buffer is allocated by the innermost loop (in a block of its own) or block around all of its accesses."""

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        homes = access_scopes(body)
        order = post_order(body)
        moved = [b for block in order if isinstance(block, st.Block) for b in block.alloc_buffers if b in homes]
        here: dict[Any, list[Buffer]] = {}
        for buffer in moved:
            here.setdefault(homes[buffer], []).append(buffer)
        changed: dict[Any, Any] = {}
        for item in order:
            made = rebuild(item, changed)
            if isinstance(item, st.Block):
                kept = [b for b in item.alloc_buffers if b not in homes]
                if kept + here.get(item, []) != list(item.alloc_buffers):
                    made = made.with_fields(alloc_buffers=(*kept, *here.get(item, ())))
            elif item in here:
                made = made.with_fields(body=_opaque(made.body, tuple(here[item])))
            if made is not item:
                changed[item] = made
        found: st.Stmt = changed.get(body, body)
        return found


def _blocks(body: st.Stmt) -> list[st.Block]:
    return [n for n in post_order(body) if isinstance(n, st.Block)]


def access_scopes(body: st.Stmt) -> dict[Buffer, st.For | st.Block]:
    """For each buffer the innermost loop or block around all of its accesses (none: the buffer is not listed). Blocks
    that go on from what earlier iterations of a loop made access it from outside of that loop."""
    paths: dict[Buffer, list[Any]] = {}
    stack: list[tuple[Any, list[Any], bool]] = [(body, [], False)]
    while stack:
        node, scopes, is_carried = stack.pop()
        if isinstance(node, st.BlockRealize) and not is_carried:
            outside = _outside_of_carried(scopes, node)
            is_carried, scopes = len(outside) < len(scopes), outside
        if isinstance(node, st.For | st.Block) and not is_carried:
            scopes = [*scopes, node]
        if isinstance(node, tir.BufferLoad | st.BufferStore | st.MatchBufferRegion):
            buffer = node.source.buffer if isinstance(node, st.MatchBufferRegion) else node.buffer
            known = paths.get(buffer)
            paths[buffer] = scopes if known is None else _common(known, scopes)
        skipped = isinstance(node, BufferRegion)  # what blocks say they read and write is no access
        stack += [(c, scopes, is_carried) for c in children(node) if not skipped]
    return {buffer: scopes[-1] for buffer, scopes in paths.items() if scopes}


def _outside_of_carried(scopes: list[Any], realize: st.BlockRealize) -> list[Any]:
    """The scopes around the first loop that an opaque axis of the block goes along."""
    pairs = zip(realize.block.iter_vars, realize.iter_values)
    carried = {n for axis, value in pairs if axis.iter_type == "opaque" for n in post_order(value)}
    return list(takewhile(lambda scope: not (isinstance(scope, st.For) and scope.loop_var in carried), scopes))


def _common(one: list[Any], other: list[Any]) -> list[Any]:
    size = next((i for i, (a, b) in enumerate(zip(one, other)) if a is not b), min(len(one), len(other)))
    return one[:size]


def _opaque(body: st.Stmt, buffers: tuple[Buffer, ...]) -> st.Stmt:
    """`body` in a block without axes that allocates `buffers`."""
    reads, writes = point_regions(body)
    outside = [[r for r in regions if r.buffer not in buffers] for regions in (reads, writes)]
    block = st.Block((), outside[0], outside[1], "", body, alloc_buffers=buffers)
    return st.BlockRealize((), tir.IntImm("bool", 1), block)


@dataclass(frozen=True)
class CompactBufferAllocation(PrimFuncPass):
    """Each buffer that a block allocates holds what is accessed in one instance of the block. Takes blocks without axes
    inside (`ConvertBlocksToOpaque`).

    `is_strict`: buffers only shrink; else those that are accessed outside of their shape grow to hold all of it.
    """

    is_strict: bool = True

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        if any(b.iter_vars for b in _blocks(body)):
            raise fail("tir-opaque", "blocks still have axes", help="run ConvertBlocksToOpaque first")

        def compacted(node: Any) -> st.Block | None:
            return _compacted(node, self.is_strict) if isinstance(node, st.Block) and node.alloc_buffers else None

        found: st.Stmt = rewrite(body, compacted)
        return found


def _compacted(block: st.Block, is_strict: bool) -> st.Block | None:
    reads, writes = point_regions(block.body)
    covered: dict[Buffer, list[BufferRegion]] = {}
    for region in (*reads, *writes):
        covered.setdefault(region.buffer, []).append(region)
    changed: dict[Buffer, tuple[Buffer, list[PrimExpr]]] = {}
    for buffer in block.alloc_buffers:
        found = _fitting(buffer, covered.get(buffer, []), is_strict)
        if found is not None:
            changed[buffer] = found
    if not changed:
        return None
    body = rewrite(block.body, lambda node: _shifted(node, changed))
    buffers = tuple(changed[b][0] if b in changed else b for b in block.alloc_buffers)
    return block.with_fields(alloc_buffers=buffers, body=body)


def _fitting(buffer: Buffer, regions: list[BufferRegion], is_strict: bool) -> tuple[Buffer, list[PrimExpr]] | None:
    """The buffer that holds `regions` and where it starts; None if that is not known, or is the buffer as it is."""
    shape = constant_shape(buffer)
    if not regions or shape is None or buffer.strides or buffer.elem_offset is not None:
        return None
    analyzer = Analyzer()
    starts: list[PrimExpr] = []
    extents: list[int] = []
    for axis, dim in enumerate(shape):
        found = _hull(analyzer, [r.region[axis] for r in regions])
        if found is None or (is_strict and found[1] >= dim):
            found = (tir.IntImm(buffer.shape[axis].dtype, 0), dim)
        starts.append(found[0])
        extents.append(found[1])
    if tuple(extents) == shape and all(ops.is_const(start, 0) for start in starts):
        return None
    dims = tuple(tir.IntImm(d.dtype, e) for d, e in zip(buffer.shape, extents))
    return buffer.with_fields(shape=dims), starts


def _hull(analyzer: Analyzer, ranges: list[Range]) -> tuple[PrimExpr, int] | None:
    """(start, extent) of the smallest range around others, if their distances are numbers."""
    first = ranges[0].min
    low, high = 0, 0
    for part in ranges:
        gap = analyzer.simplify(ops.subtract(part.min, first))
        size = analyzer.simplify(part.extent)
        if not isinstance(gap, tir.IntImm) or not isinstance(size, tir.IntImm):
            return None
        low, high = min(low, gap.value), max(high, gap.value + size.value)
    return analyzer.simplify(ops.add(first, low)), high - low


def _shifted(node: Any, changed: dict[Buffer, tuple[Buffer, list[PrimExpr]]]) -> Any:
    if not isinstance(node, tir.BufferLoad | st.BufferStore | BufferRegion) or node.buffer not in changed:
        return None
    buffer, starts = changed[node.buffer]
    analyzer = Analyzer()
    if isinstance(node, BufferRegion):
        ranges = (Range(analyzer.simplify(ops.subtract(r.min, s)), r.extent) for r, s in zip(node.region, starts))
        return node.with_fields(buffer=buffer, region=tuple(ranges))
    indices = tuple(analyzer.simplify(ops.subtract(i, s)) for i, s in zip(node.indices, starts))
    return node.with_fields(buffer=buffer, indices=indices)


__all__ = ["CompactBufferAllocation", "PlanAndUpdateBufferAllocationLocation", "access_scopes"]
