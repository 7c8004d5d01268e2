"""Which boxes of which buffers a statement reads and writes: the `reads` and `writes` of blocks.

Accesses are taken over all values of the loops inside the statement; several accesses of one buffer are covered by one
box. Where a bound cannot be told without the variables of inner loops, and for gathers, the whole axis is taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import operators
from baton._src.tir.arith.int_set import IntSet, eval_set
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.expr import BufferLoad, Call, IntImm, Let, Var, literal
from baton._src.tir.stmt import (
    Allocate,
    AllocateConst,
    Block,
    BlockRealize,
    BufferStore,
    For,
    LetStmt,
    MatchBufferRegion,
    Stmt,
)

Points = dict[Buffer, list[tuple[PrimExpr, ...]]]


def pointer_arguments(body: Stmt) -> list[Var]:
    """The variables that calls are given as they are. Through the pointer of a buffer they may read and write it."""
    calls = (node for node in post_order(body) if isinstance(node, Call))
    return [arg for call in calls for arg in call.args if isinstance(arg, Var)]


def point_regions(body: Stmt) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """(reads, writes) of a statement, buffers in order of first access."""
    reads: Points = {}
    writes: Points = {}
    inner: dict[Var, Range] = {}
    bound: dict[Var, PrimExpr] = {}
    hidden: set[Buffer] = set()
    memory: set[Var] = set()
    for item in post_order(body):
        match item:
            case BufferLoad():
                reads.setdefault(item.buffer, []).append(item.indices)
            case BufferStore():
                writes.setdefault(item.buffer, []).append(item.indices)
            case For():
                inner[item.loop_var] = Range(item.min, item.extent)
            case LetStmt() | Let():
                inner[item.var] = Range(item.value, literal(1, item.value.dtype))
            case Block():
                inner.update({iv.var: iv.dom for iv in item.iter_vars if iv.dom is not None})
                hidden.update(item.alloc_buffers)
            case BlockRealize(predicate=IntImm(value=1)):
                bound.update(zip((iv.var for iv in item.block.iter_vars), item.iter_values))
            case Allocate() | AllocateConst():
                memory.add(item.buffer_var)
            case _:
                pass
    hidden.update(b for b in (*reads, *writes) if b.data in memory)
    if bound:
        reads, writes = _in_terms_of_loops(reads, bound), _in_terms_of_loops(writes, bound)
    return _cover_all(reads, inner, hidden), _cover_all(writes, inner, hidden)


def _in_terms_of_loops(points: Points, bound: dict[Var, PrimExpr]) -> Points:
    """The accesses with the axes of blocks inside replaced by what they are bound to: a part of their range, often."""

    def resolved(index: PrimExpr) -> PrimExpr:
        for _ in bound:  # axes inside are bound to axes outside
            if not any(n in bound for n in post_order(index)):
                break
            index = substitute(index, bound)
        return index

    return {b: [tuple(resolved(i) for i in indices) for indices in found] for b, found in points.items()}


def access_regions(body: Stmt, init: Stmt | None = None) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """(reads, writes) of a block: with an `init`, reading what is updated does not count as reading."""
    reads, writes = point_regions(body)
    if init is None:
        return reads, writes
    written = {w.buffer for w in writes}
    more = [r for r in point_regions(init)[0] if r.buffer not in {x.buffer for x in reads}]
    return [r for r in (*more, *reads) if r.buffer not in written], writes


def behind_views(regions: list[BufferRegion], views: Iterable[MatchBufferRegion]) -> list[BufferRegion]:
    """Regions of a block's views as regions of the buffers they are views of."""
    sources = {view.buffer: view.source for view in views}
    return [_behind(r, sources[r.buffer]) if r.buffer in sources else r for r in regions]


def _behind(region: BufferRegion, source: BufferRegion) -> BufferRegion:
    kept = len(source.region) - len(region.region)
    moved = [
        Range(operators.add(outer.min, inner.min), operators.cast(outer.min.dtype, inner.extent))
        for outer, inner in zip(source.region[kept:], region.region)
    ]
    return BufferRegion(source.buffer, (*source.region[:kept], *moved))


def _cover_all(points: Points, inner: dict[Var, Range], hidden: set[Buffer]) -> list[BufferRegion]:
    return [
        BufferRegion(
            buffer, tuple(_cover(buffer.shape[axis], [p[axis] for p in found], inner) for axis in range(buffer.ndim))
        )
        for buffer, found in points.items()
        if buffer not in hidden
    ]


def _cover(dim: PrimExpr, indices: list[PrimExpr], inner: dict[Var, Range]) -> Range:
    first = indices[0]
    whole = Range(literal(0, dim.dtype), dim)
    parts = [n for i in indices for n in post_order(i)]
    if any(isinstance(n, BufferLoad) for n in parts):
        return whole  # a gather: what the index is depends on memory
    depends = bool(inner) and any(n in inner for n in parts)
    if not depends and all(i is first or structural_equal(i, first) for i in indices[1:]):
        return Range(first, literal(1, first.dtype))
    if any(i.dtype.lanes > 1 for i in indices):
        return whole
    covered: IntSet | None = None
    for index in indices:
        covered = eval_set(index, inner) if covered is None else covered.union(eval_set(index, inner))
        if covered.min is None or covered.max is None:
            return whole
    assert covered is not None
    assert covered.min is not None
    assert covered.max is not None
    extent = covered.extent()
    if extent is None or not (isinstance(extent, IntImm) or depends):
        return whole
    return Range(covered.min, operators.cast(covered.min.dtype, extent))
