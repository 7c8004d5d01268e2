"""Copies of a buffer in another storage scope: read through one, or written to one first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import Range
from baton._src.ir.traverse import substitute
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer, BufferRegion, decl_buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.schedule.tree import find_block, path_to, realizes, refuse, replace, replace_buffer


def cache_read(root: st.Stmt, name: str, index: int, scope: str, readers: Sequence[str] = ()) -> tuple[st.Stmt, str]:
    """Copy the `index`-th buffer that the block reads beforehand; the block (or all of `readers`) reads the copy."""
    source = _pick(find_block(root, name).block.reads, index, name, "reads").buffer
    copy = _like(source, scope)
    wanted = {find_block(root, r) for r in (readers or (name,))}
    first = next(r for r in in_order(root) if r in wanted)
    nest, block_name = _copy_nest(source, copy)
    root = insert_nest(root, first, replace_buffer(first, source, copy), nest, copy, before=True)
    for other in wanted - {first}:
        root = replace(root, {other: replace_buffer(other, source, copy)})
    return root, block_name


def in_order(root: st.Stmt) -> list[st.BlockRealize]:
    """The blocks in the order they run."""
    return [r for r in realizes(root) if r.block.iter_vars]


def cache_write(root: st.Stmt, name: str, index: int, scope: str, readers: Sequence[str] = ()) -> tuple[st.Stmt, str]:
    """Let the block write a buffer of its own, copied to the `index`-th buffer it wrote afterwards.

    `readers`, which run after the block, read the copy.
    """
    realize = find_block(root, name)
    target = _pick(realize.block.writes, index, name, "writes").buffer
    copy = _like(target, scope)
    moved = replace_buffer(realize, target, copy)
    order = in_order(root)
    changed: dict[st.Stmt, st.Stmt] = {
        r: replace_buffer(r, target, copy) for r in order if r.block.name_hint in readers
    }
    early = [r.block.name_hint for r in order[: order.index(realize) + 1] if r in changed]
    if len(changed) != len(set(readers)) or early:
        raise refuse(f"block {', '.join(early) or list(readers)} does not read {target.name} after block {name}")
    nest, block_name = _copy_nest(copy, target, name=copy.name)
    root = insert_nest(root, realize, moved, nest, copy, before=False)
    return replace(root, changed), block_name


def set_scope(root: st.Stmt, name: str, index: int, scope: str) -> st.Stmt:
    """Move the `index`-th buffer that the block writes to another storage scope."""
    buffer = _pick(find_block(root, name).block.writes, index, name, "writes").buffer
    pointer = tir.Var(buffer.data.name, buffer.data.dtype, pointee=buffer.data.pointee, scope=scope)
    new = substitute(buffer, {buffer.data: pointer})
    found: st.Stmt = substitute(root, {buffer: new})
    return found


def _pick(regions: tuple[BufferRegion, ...], index: int, name: str, what: str) -> BufferRegion:
    if not 0 <= index < len(regions):
        raise refuse(f"block {name} {what} {len(regions)} buffers: there is no number {index}")
    return regions[index]


def _like(buffer: Buffer, scope: str) -> Buffer:
    return decl_buffer(buffer.shape, buffer.dtype, f"{buffer.name}_{scope or 'global'}", scope=scope)


def _copy_nest(source: Buffer, target: Buffer, name: str | None = None) -> tuple[st.Stmt, str]:
    loops = [tir.Var(f"ax{i}", d.dtype) for i, d in enumerate(target.shape)]
    axes = [tir.Var(f"v{i}", d.dtype) for i, d in enumerate(target.shape)]
    iters = [IterVar(Range(tir.IntImm(d.dtype, 0), d), v) for d, v in zip(target.shape, axes)]
    point = tuple(Range(v, tir.IntImm(v.dtype, 1)) for v in axes)
    store = st.BufferStore(target, tir.BufferLoad(source, tuple(axes)), tuple(axes))
    label = name or target.name
    block = st.Block(iters, (BufferRegion(source, point),), (BufferRegion(target, point),), label, store)
    body: st.Stmt = st.BlockRealize(tuple(loops), tir.IntImm("bool", 1), block)
    for var, dim in zip(reversed(loops), reversed(target.shape)):
        body = st.For(var, 0, dim, st.ForKind.SERIAL, body)
    return body, label


def insert_nest(root: st.Stmt, old: st.Stmt, new: Any, nest: st.Stmt, buffer: Buffer, before: bool) -> st.Stmt:
    """Put `nest` beside the outermost loop around `old` below its enclosing block, which allocates `buffer`."""
    path = path_to(root, old)
    place = max(i for i, item in enumerate(path[:-1]) if isinstance(item, st.Block))
    outer = path[place]
    assert isinstance(outer, st.Block)
    top = path[place + 1]
    if isinstance(top, st.SeqStmt):
        top = path[place + 2]
    changed = replace(top, {old: new})
    pair = (nest, changed) if before else (changed, nest)
    if isinstance(path[place + 1], st.SeqStmt):
        sequence = path[place + 1]
        assert isinstance(sequence, st.SeqStmt)
        seq = tuple(part for s in sequence.seq for part in (pair if s is top else (s,)))
        body: st.Stmt = st.SeqStmt(seq)
    else:
        body = st.SeqStmt(pair)
    block = outer.with_fields(body=body, alloc_buffers=(*outer.alloc_buffers, buffer))
    return replace(root, {outer: block})
