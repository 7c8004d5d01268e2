"""The memory layout of buffers: index maps, padding, aligned rows."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.block_annotations import BUFFER_DIM_ALIGN
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import IterVar
from baton._src.tir.index_map import IndexMap
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.transformations.buffer_accesses import with_places
from baton._src.tir.schedule.transformations.nests import nest_over
from baton._src.tir.schedule.tree import (
    enclosing_block,
    find_block,
    path_to,
    refreshed,
    refuse,
    replace,
    simplify,
    unused_name,
)


def buffer_of(root: st.Stmt, name: str, index: int, which: str) -> Buffer:
    """The `index`-th buffer that a block reads or writes."""
    block = find_block(root, name).block
    regions = block.writes if which == "write" else block.reads
    if not 0 <= index < len(regions):
        raise refuse(f"block {name} {which}s {len(regions)} buffers: there is no number {index}")
    return regions[index].buffer


def transform_layout(func: PrimFunc, buffer: Buffer, index_map: IndexMap) -> PrimFunc:
    """The function with `buffer` in the layout of the map, at all of its uses; a parameter's shape changes with it."""
    if buffer.strides or buffer.elem_offset is not None:
        raise refuse(f"{buffer.name} has strides or an offset: its layout cannot be changed")
    shape = tuple(simplify(d) for d in index_map.map_shape(buffer.shape))
    new = decl_buffer(shape, buffer.dtype, buffer.name, scope=buffer.scope())

    def moved(indices: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        if any(index.dtype.lanes > 1 for index in indices):
            raise refuse(f"{buffer.name} is read or written by vectors: its layout cannot be changed")
        found = index_map.map_indices(indices)
        return tuple(ops.cast(d.dtype, i) for d, i in zip(shape, found))

    mapping = {var: new if b is buffer else b for var, b in func.buffer_map.items()}
    return func.with_fields(body=with_places(func.body, buffer, new, moved), buffer_map=mapping)


def require_places(buffer: Buffer, index_map: IndexMap, is_padded: bool) -> None:
    """Refuse a map that gives two elements one place, and one that leaves places of the new layout unused unless that
    is padded.
    """
    _, empty = index_map.non_surjective_inverse(buffer.shape)
    if not is_padded and not ops.is_const(empty, 0):
        raise refuse(
            f"the layout has padding, of which nothing says what {buffer.name} holds there: {empty}",
            help="give pad_value, or assume_injective_transform=True if nothing reads the padding",
        )


def with_padding(
    func: PrimFunc, name: str, buffer: Buffer, index_map: IndexMap, old_shape: Any, value: Any
) -> PrimFunc:
    """The function with `value` stored in the padding of `buffer`, before the block that writes it."""
    back, empty = index_map.non_surjective_inverse(old_shape)
    if isinstance(empty, tir.IntImm):
        return func  # one to one: there is no padding
    axes = [IterVar(Range(tir.IntImm(d.dtype, 0), d), tir.Var(f"v{n}", d.dtype)) for n, d in enumerate(buffer.shape)]
    at = tuple(axis.var for axis in axes)
    outside = substitute(empty, {v: ops.cast(v.dtype, a) for v, a in zip(back.initial_indices, at)})
    filled = value.map_indices(list(at))[0] if isinstance(value, IndexMap) else value
    store = st.BufferStore(buffer, ops.cast(buffer.dtype, ops.convert(filled)), at)
    label = unused_name(func.body, f"{buffer.name}_padding")
    block = refreshed(st.Block(axes, (), (), label, st.IfThenElse(outside, store)))
    nest = nest_over(axes, block)
    path = path_to(func.body, find_block(func.body, name))
    place = enclosing_block(path)
    top = path[place + 1]
    if isinstance(top, st.SeqStmt):
        after = path[place + 2]
        whole: st.Stmt = st.SeqStmt(tuple(p for s in top.seq for p in ((nest, s) if s is after else (s,))))
    else:
        whole = st.SeqStmt((nest, top))
    return func.with_fields(body=replace(func.body, {top: whole}))


def storage_align(root: st.Stmt, name: str, index: int, axis: int, factor: int, offset: int) -> st.Stmt:
    """Annotate the block so that the stride of `axis` of the buffer it writes is `offset` modulo `factor`: compaction
    and lowering then choose such strides.
    """
    buffer = buffer_of(root, name, index, "write")
    rank = len(buffer.shape)
    place = axis + rank if axis < 0 else axis
    if not 0 <= place < rank:
        raise refuse(f"{buffer.name} has {rank} dims: there is no axis {axis}")
    if not (factor > 0 and 0 <= offset < factor):
        raise refuse(f"an alignment is a factor of 1 or more and an offset below it, got {factor} and {offset}")
    if not any(isinstance(n, st.Block) and buffer in n.alloc_buffers for n in post_order(root)):
        raise refuse(f"{buffer.name} is not a buffer of the function's own: others rely on its layout")
    block = find_block(root, name).block
    entries = {(entry[0], entry[1]): entry for entry in block.annotations.get(BUFFER_DIM_ALIGN, ())}
    entries[index, place] = [index, place, factor, offset]
    wanted = {**block.annotations, BUFFER_DIM_ALIGN: [*entries.values()]}
    return replace(root, {block: block.with_fields(annotations=wanted)})
