"""Copies of a buffer in another storage scope: reads through a copy, or writes to a copy first."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.reductions import variables_of
from baton._src.tir.analysis.regions import point_regions
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.conditions.coverage import require_own_start
from baton._src.tir.schedule.conditions.filled_boxes import require_filled
from baton._src.tir.schedule.tree import (
    blocks_directly_in,
    blocks_passed,
    computes,
    enclosing_block,
    find_block,
    path_to,
    realizes,
    refuse,
    regions_in_loops,
    replace,
    replace_buffer,
    simplify,
    unused_name,
)
from baton._src.tir.schedule.views import defined_by


def cache_read(root: st.Stmt, name: str, index: int, scope: str, readers: Sequence[str] = ()) -> tuple[st.Stmt, str]:
    """Copy the `index`-th buffer that the block reads beforehand; `readers` read the copy (default: all blocks beside
    the block that read the buffer).
    """
    realize = find_block(root, name)
    source = _pick(realize.block.reads, index, name, "reads").buffer
    if _uses(realize.block.writes, source):
        raise refuse(f"block {name} also writes {source.name}: a copy made before it would be out of date")
    copy = like(source, scope)
    wanted = {_reader(root, r, source) for r in readers} or _readers_beside(root, realize, source)
    first = next(r for r in realizes(root) if r in wanted)
    for passed in blocks_passed(root, first, [*wanted]):
        if _uses(passed.block.writes, source):
            raise refuse(f"{source.name} is written by block {passed.block.name_hint} between its readers")
    spot = find_spot(root, first, lambda other: _uses(other.block.writes, source))
    if any(r not in realizes(spot.around) for r in wanted):
        raise refuse(f"{source.name} is computed inside a loop that does not contain all of its readers")
    box = _box(spot, spot.around, source, 0)
    nest, block_name = copy_nest(source, copy, box, unused_name(root, copy.name))
    root = insert_at(root, spot, first, replace_buffer(first, source, copy), nest, copy, before=True)
    for other in wanted - {first}:
        root = replace(root, {other: replace_buffer(other, source, copy)})
    return root, block_name


def _reader(root: st.Stmt, name: str, buffer: Buffer) -> st.BlockRealize:
    """A block that is to read a copy of a buffer, which it has to read and may not write."""
    realize = find_block(root, name)
    if not _uses(realize.block.reads, buffer):
        raise refuse(f"block {name} does not read {buffer.name}")
    if _uses(realize.block.writes, buffer):
        raise refuse(f"block {name} also writes {buffer.name}, not the copy alone")
    return realize


def _readers_beside(root: st.Stmt, realize: st.BlockRealize, buffer: Buffer) -> set[st.BlockRealize]:
    """The blocks in the same enclosing block that read the buffer and do not write it."""
    around = [n for n in path_to(root, realize) if isinstance(n, st.Block)]
    beside = blocks_directly_in(around[-1])
    return {r for r in beside if _uses(r.block.reads, buffer) and not _uses(r.block.writes, buffer)}


def in_order(root: st.Stmt) -> list[st.BlockRealize]:
    """The blocks in the order they run."""
    return [r for r in realizes(root) if computes(r.block)]


def cache_write(root: st.Stmt, name: str, index: int, scope: str, readers: Sequence[str] = ()) -> tuple[st.Stmt, str]:
    """Let the block write a buffer of its own, copied to the `index`-th buffer it wrote afterwards.

    `readers`, which run after the block, read the copy.
    """
    realize = find_block(root, name)
    target = _pick(realize.block.writes, index, name, "writes").buffer
    require_own_start(root, realize, target)
    copy = like(target, scope)
    moved = replace_buffer(realize, target, copy)
    order = in_order(root)
    given = {_reader(root, r, target) for r in readers}
    changed: dict[st.Stmt, st.Stmt] = {r: replace_buffer(r, target, copy) for r in order if r in given}
    before = itertools.takewhile(lambda r: r is not realize, realizes(root))
    early = [r.block.name_hint for r in (*before, realize) if r in changed]
    if len(changed) != len(set(readers)) or early:
        raise refuse(f"block {', '.join(early) or list(readers)} does not read {target.name} after block {name}")

    own = {*path_to(root, realize), *realizes(realize)}
    beside = [r.block.name_hint for r in order if r not in own and _uses(r.block.writes, target)]
    if given and beside:
        raise refuse(f"block {beside[0]} writes a part of {target.name} that readers would miss in the copy")

    def depends(other: st.BlockRealize) -> bool:
        return _uses(other.block.writes, target) or (other not in changed and _uses(other.block.reads, target))

    spot = find_spot(root, realize, depends)
    outside = [r.block.name_hint for r in given if r not in realizes(spot.block.body)]
    if outside:
        raise refuse(
            f"block {outside[0]} is not in block {spot.block.name_hint}, which holds the copy of {target.name}"
        )
    _require_own_sums(root, realize, spot.block)
    box = _box(spot, spot.statement, target, 1)
    require_filled(realize, target, box, spot.block if spot.is_whole else spot.statement, _around(spot))
    nest, block_name = copy_nest(copy, target, box, unused_name(root, copy.name))
    root = insert_at(root, spot, realize, moved, nest, copy, before=False)
    return replace(root, changed), block_name


def _require_own_sums(root: st.Stmt, realize: st.BlockRealize, holder: st.Block) -> None:
    """Refuse a reduction over loops or axes around the block that would hold the copy: each would begin it anew."""
    path = path_to(root, realize)
    outside = path[: path.index(holder) + 1]
    fixed = {item.loop_var for item in outside if isinstance(item, st.For)}
    fixed |= {axis.var for item in outside if isinstance(item, st.Block) for axis in item.iter_vars}
    for var in variables_of(realize, reducing=True) & fixed:
        name = realize.block.name_hint
        raise refuse(f"block {name} reduces over {var.name}, around block {holder.name_hint} that would hold the copy")


def _uses(regions: tuple[BufferRegion, ...], buffer: Buffer) -> bool:
    return any(region.buffer is buffer for region in regions)


@dataclass(frozen=True)
class Spot:
    """The place of a copy: next to `statement`, which is inside `around` (a loop, or the enclosing block's body)."""

    block: st.Block
    """The block around all of it, which allocates the copy."""
    around: st.Stmt
    statement: st.Stmt
    loops: tuple[st.For, ...]
    """The loops between the block and the statement."""

    @property
    def is_whole(self) -> bool:
        """Whether all uses of the buffer in the function are here, once."""
        return self.block.name_hint == "root" and not self.loops


def find_spot(root: st.Stmt, old: st.Stmt, depends: Callable[[st.BlockRealize], bool]) -> Spot:
    """The outermost statement with `old` below its enclosing block that holds no other block which `depends`."""
    path = path_to(root, old)
    place = enclosing_block(path)
    outer = path[place]
    assert isinstance(outer, st.Block)
    loops: list[st.For] = []
    for item in path[place + 1 :]:
        inside = [] if item is old else realizes(item)
        if not isinstance(item, st.SeqStmt) and not any(r is not old and depends(r) for r in inside):
            return Spot(outer, loops[-1] if loops else outer.body, item, tuple(loops))
        if isinstance(item, st.For):
            loops.append(item)
    raise AssertionError(old)


def _box(spot: Spot, statement: st.Stmt, buffer: Buffer, kind: int) -> list[Range]:
    """What `statement` reads (kind 0) or writes (1) of a buffer, inside of its bounds."""
    if spot.is_whole:
        regions = point_regions(statement)[kind]
    else:
        body = statement.body if isinstance(statement, st.For) and statement in spot.loops else statement
        regions = regions_in_loops(body)[kind]
    found = next(r for r in regions if r.buffer is buffer)
    analyzer = Analyzer.over(_around(spot))
    return [_clipped(part, dim, analyzer) for part, dim in zip(found.region, buffer.shape)]


def _around(spot: Spot) -> dict[tir.Var, Range]:
    """The ranges of axes and loops around a spot's statement."""
    axes = {axis.var: axis.dom for axis in spot.block.iter_vars if axis.dom is not None}
    return axes | {loop.loop_var: Range(loop.min, loop.extent) for loop in spot.loops}


def _clipped(part: Range, dim: PrimExpr, analyzer: Analyzer) -> Range:
    zero = tir.literal(0, part.min.dtype)
    end = ops.add(part.min, part.extent)
    low = part.min if analyzer.prove(part.min >= 0) else ops.max(part.min, zero)
    high = end if analyzer.prove(end <= dim) else ops.min(end, dim)
    return Range(low, simplify(ops.subtract(high, low)))


_SCOPES = re.compile(
    r"(global|shared|local|texture)(\..+)?|warp|amx\.tmm|wmma\.(matrix_[ab]|accumulator)|m16n8k8\.matrix[ABC]|"
)


def known_scope(scope: str) -> str:
    """The storage scope, if there is one of that name; memory of the first three may have a tag (`shared.dyn`)."""
    if _SCOPES.fullmatch(scope) is None:
        raise refuse(f"{scope!r} is no storage scope", help="there are: global, shared, shared.dyn, local, warp")
    return scope


def set_scope(root: st.Stmt, name: str, index: int, scope: str) -> st.Stmt:
    """Move the `index`-th buffer that the block writes to another storage scope."""
    known_scope(scope)
    buffer = _pick(find_block(root, name).block.writes, index, name, "writes").buffer
    if not any(_is_memory_of(r.block, buffer) for r in realizes(root)):
        raise refuse(f"{buffer.name} is a parameter: only buffers that the function allocates change their scope")
    pointer = tir.Var(buffer.data.name, buffer.data.dtype, pointee=buffer.data.pointee, scope=scope)
    new = substitute(buffer, {buffer.data: pointer})
    found: st.Stmt = substitute(replace_buffer(root, buffer, new), {buffer.data: pointer})
    return found


def _is_memory_of(block: st.Block, buffer: Buffer) -> bool:
    return any(own is buffer for own in block.alloc_buffers)


def _pick(regions: tuple[BufferRegion, ...], index: int, name: str, what: str) -> BufferRegion:
    if not 0 <= index < len(regions):
        raise refuse(f"block {name} {what} {len(regions)} buffers: there is no number {index}")
    return regions[index]


def like(buffer: Buffer, scope: str) -> Buffer:
    """A buffer for a copy of another."""
    return decl_buffer(buffer.shape, buffer.dtype, f"{buffer.name}_{scope or 'global'}", scope=known_scope(scope))


def copy_nest(source: Buffer, target: Buffer, box: list[Range], label: str) -> tuple[st.Stmt, str]:
    """The loops that copy a box in a block of this name, and the name."""
    loops = [tir.Var(f"ax{i}", d.dtype) for i, d in enumerate(target.shape)]
    axes = [tir.Var(f"v{i}", d.dtype) for i, d in enumerate(target.shape)]
    iters = [IterVar(Range(tir.IntImm(d.dtype, 0), d), v) for d, v in zip(target.shape, axes)]
    point = tuple(Range(v, tir.IntImm(v.dtype, 1)) for v in axes)
    store = st.BufferStore(target, tir.BufferLoad(source, tuple(axes)), tuple(axes))
    block = st.Block(iters, (BufferRegion(source, point),), (BufferRegion(target, point),), label, store)
    values = [ops.add(ops.cast(v.dtype, part.min), v) for v, part in zip(loops, box)]
    body: st.Stmt = st.BlockRealize(tuple(values), tir.IntImm("bool", 1), block)
    for var, part in zip(reversed(loops), reversed(box)):
        body = st.For(var, 0, ops.cast(var.dtype, part.extent), st.ForKind.SERIAL, body)
    return body, label


def insert_nest(root: st.Stmt, old: st.Stmt, new: Any, nest: st.Stmt, buffer: Buffer, before: bool) -> st.Stmt:
    """Put `nest` next to the outermost loop around `old` below its enclosing block, which allocates `buffer`."""
    return insert_at(root, find_spot(root, old, lambda other: False), old, new, nest, buffer, before)


def insert_at(
    root: st.Stmt, spot: Spot, old: st.Stmt, new: Any, nest: st.Stmt, buffer: Buffer, before: bool
) -> st.Stmt:
    """Put `nest` before or behind the statement of a spot, in which `old` becomes `new`."""
    open_sizes = {var for view in spot.block.match_buffers for var in defined_by(view)}
    if not open_sizes.isdisjoint(post_order(buffer.shape)):
        raise refuse(f"the size of {buffer.name} is that of a view, which block {spot.block.name_hint} begins with")
    changed = new if spot.statement is old else replace(spot.statement, {old: new})
    pair = (nest, changed) if before else (changed, nest)
    body = replace(spot.block.body, {spot.statement: st.SeqStmt(pair)})
    block = spot.block.with_fields(body=body, alloc_buffers=(*spot.block.alloc_buffers, buffer))
    return replace(root, {spot.block: block})
