"""Which boxes of which buffers a statement reads and writes: the `reads` and `writes` of blocks.

`point_regions` is for bodies without inner loops: each access is one element for given block variables. Several
elements of one buffer are covered by the smallest box where they differ by constants, else by the whole axis.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import post_order
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.expr import BufferLoad, literal
from baton._src.tir.stmt import BufferStore, Stmt

Points = dict[Buffer, list[tuple[PrimExpr, ...]]]


def point_regions(body: Stmt) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """(reads, writes) of a statement without loops, buffers in order of first access."""
    reads: Points = {}
    writes: Points = {}
    for item in post_order(body):
        if isinstance(item, BufferLoad):
            reads.setdefault(item.buffer, []).append(item.indices)
        elif isinstance(item, BufferStore):
            writes.setdefault(item.buffer, []).append(item.indices)
    return _cover_all(reads), _cover_all(writes)


def _cover_all(points: Points) -> list[BufferRegion]:
    return [
        BufferRegion(buffer, tuple(_cover(buffer.shape[axis], [p[axis] for p in found]) for axis in range(buffer.ndim)))
        for buffer, found in points.items()
    ]


def _cover(dim: PrimExpr, indices: list[PrimExpr]) -> Range:
    first = indices[0]
    if all(i is first or structural_equal(i, first) for i in indices[1:]):
        return Range(first, literal(1, first.dtype))
    return Range(literal(0, dim.dtype), dim)
