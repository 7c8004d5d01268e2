"""Which layouts a kernel's operands and blocks would take if its results had others (`suggest_layout_transforms`).

    for n, c: B[n, c] = A[n, c] + S[c]        B: (n, c) -> (n, c // 4, c % 4)
    suggests for the block and for A the same, for S: c -> (c // 4, c % 4)

An access has a spatial layout: for each dim the spatial axis of the block that its index moves with, if any. Where the
layouts of the result and of an operand go through axes in the block's order, the result's transform says what becomes
of the operand's dims. Where this cannot be decided, nothing is suggested: every suggestion is valid, but they need not
be complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.expr import BufferLoad, IterVar, Var
from baton._src.tir.index_map import IndexMap
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Block, BufferStore

Layout = tuple[Var | None, ...]
Suggestion = dict[Block | Buffer, IndexMap]


def suggest_layout_transforms(func: PrimFunc, write_buffer_transforms: Sequence[Any]) -> dict[Block, Suggestion]:
    """For each block that can follow: its own transform, and those of the buffers it writes and reads.

    `write_buffer_transforms` (`IndexMap`s or functions of indices) are those of the last parameters. Errors `api`:
    there are more than parameters, or one is for another number of dims.
    """
    known = _given(func, write_buffer_transforms)
    found: dict[Block, Suggestion] = {}
    pending = [block for block in _outer_blocks(func) if len(block.writes) == 1] if known else []
    while ready := next((block for block in pending if block.writes[0].buffer in known), None):
        pending.remove(ready)
        made = _Analysis(ready).transforms(known)
        if made is not None:
            written = ready.writes[0].buffer
            suggestion: Suggestion = {ready: made[0], written: known[written]}
            suggestion.update(made[1].items())
            found[ready] = suggestion
            known |= made[1]
    return {block: found[block] for block in _outer_blocks(func) if block in found}


def _given(func: PrimFunc, transforms: Sequence[Any]) -> dict[Buffer, IndexMap]:
    """The transforms of results, by buffer."""
    if len(transforms) > len(func.params):
        raise fail("api", f"{len(transforms)} transforms are given, the kernel has {len(func.params)} parameters")
    known: dict[Buffer, IndexMap] = {}
    for param, transform in zip(func.params[len(func.params) - len(transforms) :], transforms, strict=True):
        buffer = func.buffer_map.get(param)
        if buffer is None:
            raise fail("api", f"the parameter {param} is not a buffer, it has no layout")
        found = transform if isinstance(transform, IndexMap) else IndexMap.from_func(transform, len(buffer.shape))
        if len(found.initial_indices) != len(buffer.shape):
            message = f"{buffer.name} has {len(buffer.shape)} dims, its transform {len(found.initial_indices)}"
            raise fail("api", message)
        known[buffer] = found
    return known


def _outer_blocks(func: PrimFunc) -> Iterator[Block]:
    """The blocks directly inside the root, in order."""
    blocks = [item for item in post_order(func.body) if isinstance(item, Block)]
    inner = {b for block in blocks if block.name_hint != "root" for b in post_order(block.body) if isinstance(b, Block)}
    return (block for block in blocks if block.name_hint != "root" and block not in inner)


class _Analysis:
    """The accesses of a block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.order = {axis.var: place for place, axis in enumerate(block.iter_vars)}
        self.spatial = {axis.var for axis in block.iter_vars if axis.iter_type == IterVar.DataPar}
        self.layouts = self._layouts()

    def transforms(self, known: dict[Buffer, IndexMap]) -> tuple[IndexMap, dict[Buffer, IndexMap]] | None:
        """The block's transform, and those of buffers it reads that have none yet; None if it cannot follow."""
        if self._is_beyond_analysis():
            return None
        written = self.block.writes[0].buffer
        layout = self._in_order(written)
        source = tuple(v for v in layout or () if v is not None)
        if layout is None or len(source) < len(layout):
            return None
        whole = _inferred(source, known[written], tuple(self.order))
        if whole is None or not _is_one_to_one(whole, self.block.iter_vars):
            return None
        read: dict[Buffer, IndexMap] = {}
        for buffer in (region.buffer for region in self.block.reads):
            target = None if buffer in known else self._in_order(buffer)
            made = None if target is None else _inferred(source, known[written], target)
            if made is not None:
                read[buffer] = made
        return whole, read

    def _is_beyond_analysis(self) -> bool:
        """Whether there are blocks inside, other stores, or axes that are neither spatial nor reduced."""
        kinds = {axis.iter_type for axis in self.block.iter_vars}
        written = self.block.writes[0].buffer
        return not kinds <= {IterVar.DataPar, IterVar.CommReduce} or any(
            isinstance(item, Block) or (isinstance(item, BufferStore) and item.buffer is not written)
            for item in post_order(self.block.body)
        )

    def _layouts(self) -> dict[Buffer, Layout | None]:
        """The spatial layout of each buffer; None where accesses differ or have none."""
        found: dict[Buffer, Layout | None] = {}
        for item in post_order(self.block.body):
            if isinstance(item, (BufferLoad, BufferStore)):
                layout = self._layout(item.indices)
                found[item.buffer] = layout if _are_same(found.get(item.buffer, layout), layout) else None
        return found

    def _layout(self, indices: Sequence[Any]) -> Layout | None:
        layout: list[Var | None] = []
        for index in indices:
            used = {item for item in post_order(index) if item in self.spatial}
            if len(used) > 1 or not _is_affine(index, used):
                return None
            layout.append(next(iter(used), None))
        return tuple(layout)

    def _in_order(self, buffer: Buffer) -> Layout | None:
        """The layout of a buffer if it goes through the axes in the block's order."""
        layout = self.layouts.get(buffer)
        places = [self.order[v] for v in layout or () if v is not None]
        return layout if layout and places == sorted(set(places)) else None


def _are_same(one: Layout | None, other: Layout | None) -> bool:
    if one is None or other is None or len(one) != len(other):
        return False
    return all(a is b for a, b in zip(one, other, strict=True))


def _is_affine(index: Any, moving: set[Any]) -> bool:
    """Whether an index is composed of the variables by sums, multiples, and splits by constants."""
    if index in moving or not any(item in moving for item in post_order(index)):
        return True
    match index:
        case tir.Add(a=a, b=b) | tir.Sub(a=a, b=b):
            return _is_affine(a, moving) and _is_affine(b, moving)
        case tir.Mul(a=a, b=tir.IntImm()) | tir.Mul(a=tir.IntImm(), b=a):
            return _is_affine(a, moving)
        case tir.FloorDiv(a=a, b=tir.IntImm()) | tir.FloorMod(a=a, b=tir.IntImm()) | tir.Cast(value=a):
            return _is_affine(a, moving)
        case _:
            return False


def _inferred(source: tuple[Var, ...], transform: IndexMap, target: Layout) -> IndexMap | None:
    """The transform of what has the layout `target`, from that of what has the layout `source`.

    What `target` does not have is dropped from the transform of `source`; its other dims stay where they are. None: a
    new index mixes dims of both kinds.
    """
    wanted, had = {v for v in target if v is not None}, set(source)
    initial = [index for index, var in zip(transform.initial_indices, source, strict=True) if var in wanted]
    final: list[Any] = []
    for index in transform.final_indices:
        used = {item for item in post_order(index) if isinstance(item, Var)}
        if used <= set(initial):
            final.append(index)
        elif used & set(initial):
            return None
    for place, var in enumerate(target):
        if var is None or var not in had:
            own = Var("d", transform.initial_indices[0].dtype)
            initial.insert(place, own)
            final.insert(min(place, len(final)), own)
    return IndexMap(tuple(initial), tuple(final))


def _is_one_to_one(transform: IndexMap, axes: Sequence[IterVar]) -> bool:
    """Whether the transform fills the domain of a block."""
    try:
        transform.inverse([axis.dom.extent for axis in axes if axis.dom is not None])
    except DiagnosticError:
        return False
    return True
