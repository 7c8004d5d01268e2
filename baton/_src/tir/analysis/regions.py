"""Which boxes of which buffers a statement reads and writes: the `reads` and `writes` of blocks.

Accesses are taken over all values of the loops inside the statement; several accesses of one buffer are covered by one
box. Where a bound cannot be told without the variables of inner loops, and for gathers, the whole axis is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order, rewrite, substitute
from baton._src.support.diagnostics import fail
from baton._src.tir import operators
from baton._src.tir.analysis.vector_rows import by_lane
from baton._src.tir.arith.int_set import IntSet, eval_set
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.expr import BufferLoad, Call, IntImm, Let, Ramp, Var, literal
from baton._src.tir.intrinsics import intrinsic
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
    full_region,
)

_ACCESS_PTR = intrinsic("tvm_access_ptr")
Points = dict[Buffer, list[tuple[PrimExpr, ...]]]


def pointer_arguments(body: Stmt) -> list[Var]:
    """The variables that calls are given as they are. Through the pointer of a buffer they may read and write it."""
    calls = (node for node in post_order(body) if isinstance(node, Call))
    return [arg for call in calls for arg in call.args if isinstance(arg, Var)]


def viewed_buffers(body: Any) -> set[Buffer]:
    """The buffers that blocks use under other names, which may read and write them."""
    return {node.source.buffer for node in post_order(body) if isinstance(node, MatchBufferRegion)}


def pointer_uses(body: Stmt, buffers: Mapping[Var, Buffer]) -> dict[Var, int]:
    """How the bare pointers of `buffers` are used, outside of blocks inside: 1 to read, 2 to write, as `access_ptr`
    says, 3 for both or for a use that says nothing.
    """
    masks: dict[Var, int] = {}
    for node in post_order(body, below=_outside_of_blocks):
        says = isinstance(node, Call) and node.op is _ACCESS_PTR and isinstance(node.args[4], IntImm)
        mask = int(node.args[4]) if says else 3
        for part in _outside_of_blocks(node):
            if isinstance(part, Var) and part in buffers:
                masks[part] = masks.get(part, 0) | mask
    return masks


def _outside_of_blocks(node: Node) -> list[Any]:
    return [part for part in children(node) if not isinstance(part, Buffer | Block)]


def inferred_regions(
    body: Stmt, init: Stmt | None, views: Iterable[MatchBufferRegion], buffers: Mapping[Var, Buffer]
) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """`access_regions` of a block that states none, with all of a buffer whose pointer is given out to read it, or to
    write it. `buffers`: those whose pointers the block may use.

    Error `tir-block`: a pointer is used, and nothing says what for.
    """
    found = access_regions(body, init, views)
    for var, mask in pointer_uses(body, buffers).items():
        buffer = buffers[var]
        if mask == 3:
            raise fail(
                "tir-block",
                f"the pointer of {buffer.name} is used: nothing says what the block reads and writes there",
                help="state it: T.reads(...) and T.writes(...)",
            )
        regions = found[mask - 1]
        regions[:] = [*(r for r in regions if r.buffer is not buffer), full_region(buffer)]
    return found


def by_pointer(block: Block) -> set[Buffer]:
    """The buffers whose pointers a block passes on, or those of its views of them: only the regions that it states
    say what it accesses of them.
    """
    pointers = set(pointer_arguments(block.body))
    found = {region.buffer for region in (*block.reads, *block.writes) if region.buffer.data in pointers}
    sources = {view.buffer: view.source for view in block.match_buffers}
    return found | {_place_behind(b, b.shape, sources)[0] for b in sources if b.data in pointers}


def corners(region: BufferRegion) -> list[tuple[PrimExpr, ...]]:
    """The first place and the last one."""
    last = (operators.subtract(operators.add(part.min, part.extent), 1) for part in region.region)
    return [tuple(part.min for part in region.region), tuple(last)]


def region_over(region: BufferRegion, domains: Mapping[Var, Range]) -> BufferRegion:
    """The region for all values of some variables."""
    ends = list(zip(*corners(region)))
    inner = dict(domains)
    return BufferRegion(region.buffer, tuple(_cover(d, [*at], inner) for d, at in zip(region.buffer.shape, ends)))


def point_regions(body: Stmt, views: Iterable[MatchBufferRegion] = ()) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """(reads, writes) of a statement, buffers in order of first access.

    What is accessed through a view, one of `views` or of a block inside, is accessed of the buffer that it shows.
    """
    sources = {view.buffer: view.source for view in views}
    reads: Points = {}
    writes: Points = {}
    inner: dict[Var, Range] = {}
    bound: dict[Var, PrimExpr] = {}
    blocks: list[Block] = []
    hidden: set[Buffer] = set()
    memory: set[Var] = set()
    for item in post_order(body):
        match item:
            case BufferLoad() | BufferStore():
                indices, lanes = by_lane(item.buffer, item.indices)
                inner.update(lanes)
                found = reads if isinstance(item, BufferLoad) else writes
                found.setdefault(item.buffer, []).append(indices)
            case For():
                inner[item.loop_var] = Range(item.min, item.extent)
            case LetStmt() | Let():
                inner[item.var] = Range(item.value, literal(1, item.value.dtype))
            case Block():
                inner.update({iv.var: iv.dom for iv in item.iter_vars if iv.dom is not None})
                hidden.update(item.alloc_buffers)
                blocks.append(item)
                sources.update((view.buffer, view.source) for view in item.match_buffers)
            case BlockRealize(predicate=IntImm(value=1)):
                bound.update(zip((iv.var for iv in item.block.iter_vars), item.iter_values))
            case Allocate() | AllocateConst():
                memory.add(item.buffer_var)
            case _:
                pass
    for block in blocks:
        _add_declared(block, reads, writes)
    if sources:
        reads, writes = _behind_views(reads, sources), _behind_views(writes, sources)
    hidden.update(b for b in (*reads, *writes) if b.data in memory)
    if bound:
        reads, writes = _in_terms_of_loops(reads, bound), _in_terms_of_loops(writes, bound)
    return _cover_all(reads, inner, hidden), _cover_all(writes, inner, hidden)


def _add_declared(block: Block, reads: Points, writes: Points) -> None:
    """What a block inside says that it accesses, of buffers whose pointers it passes on."""
    opaque = by_pointer(block)
    for regions, found in ((block.reads, reads), (block.writes, writes)) if opaque else ():
        for region in regions:
            if region.buffer in opaque:
                found.setdefault(region.buffer, []).extend(corners(region))


def _in_terms_of_loops(points: Points, bound: dict[Var, PrimExpr]) -> Points:
    """The accesses with the axes of blocks inside replaced by what they are bound to: a part of their range, often."""

    def resolved(index: PrimExpr) -> PrimExpr:
        for _ in bound:  # axes inside are bound to axes outside
            if not any(n in bound for n in post_order(index)):
                break
            index = substitute(index, bound)
        return index

    return {b: [tuple(resolved(i) for i in indices) for indices in found] for b, found in points.items()}


def access_regions(
    body: Stmt, init: Stmt | None = None, views: Iterable[MatchBufferRegion] = ()
) -> tuple[list[BufferRegion], list[BufferRegion]]:
    """(reads, writes) of a block with these views; with an `init`, reading what is updated is not reading."""
    reads, writes = point_regions(body, views)
    if init is None:
        return reads, writes
    written = {w.buffer for w in writes}
    more = [r for r in point_regions(init, views)[0] if r.buffer not in {x.buffer for x in reads}]
    return [r for r in (*more, *reads) if r.buffer not in written], writes


def through_views(body: Stmt, views: Iterable[MatchBufferRegion]) -> Stmt:
    """The statement with accesses of the views as accesses of the buffers that they show."""
    sources = {view.buffer: view.source for view in views}

    def rule(node: Node) -> Node | None:
        if isinstance(node, BufferLoad) and node.buffer in sources:
            return BufferLoad(*_place_behind(node.buffer, node.indices, sources))
        if isinstance(node, BufferStore) and node.buffer in sources:
            buffer, indices = _place_behind(node.buffer, node.indices, sources)
            return BufferStore(buffer, node.value, indices)
        return None

    found: Stmt = rewrite(body, rule) if sources else body
    return found


def _behind_views(points: Points, sources: Mapping[Buffer, BufferRegion]) -> Points:
    found: Points = {}
    for view, places in points.items():
        for indices in places:
            buffer, behind = _place_behind(view, indices, sources)
            found.setdefault(buffer, []).append(behind)
    return found


def _place_behind(
    buffer: Buffer, indices: tuple[PrimExpr, ...], sources: Mapping[Buffer, BufferRegion]
) -> tuple[Buffer, tuple[PrimExpr, ...]]:
    """The place that a view of a view of ... shows: its last axes are those of the source, from its start on."""
    while buffer in sources:
        source = sources[buffer]
        starts = [part.min for part in source.region]
        kept = len(starts) - len(indices)
        indices = (*starts[:kept], *(_moved(index, start) for start, index in zip(starts[kept:], indices)))
        buffer = source.buffer
    return buffer, indices


def _moved(index: PrimExpr, start: PrimExpr) -> PrimExpr:
    """An index counted from elsewhere; a ramp stays one."""
    if isinstance(index, Ramp):
        return Ramp(operators.add(start, index.base), index.stride, index.lanes)
    return operators.add(start, index)


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
