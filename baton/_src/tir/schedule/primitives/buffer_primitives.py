"""Primitives of `Schedule` on buffers: copies, memory layout, and the declared access regions of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.index_map import IndexMap
from baton._src.tir.index_map_from_text import index_map_of
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV, LoopRV, block_name
from baton._src.tir.schedule.primitives.recording import recorded
from baton._src.tir.schedule.transformations import block_axes, cache, cached_indices, copy_at, layout, reindex, rolling
from baton._src.tir.schedule.tree import find_block, refuse
from baton._src.tir.text.printer import node_text


class BufferPrimitives:
    """A base class of `Schedule`; `func` is the current function.

    A buffer is given by its number among those that the block reads or writes, by itself or by name; where either is
    possible, as ("read" or "write", number). Primitives find numbers (see `recording`).
    """

    func: PrimFunc

    def _set(self, body: st.Stmt, loops_chosen: bool = True) -> None:
        raise NotImplementedError

    def _block(self, block: BlockRV | str) -> st.Block:
        return find_block(self.func.body, block_name(block)).block

    @recorded
    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: Any,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Read a buffer through a copy, in `consumer_blocks` or in all blocks beside the block; returns the copying
        block.
        """
        readers = [block_name(c) for c in consumer_blocks or ()]
        body, name = cache.cache_read(self.func.body, block_name(block), read_buffer_index, storage_scope, readers)
        self._set(body)
        return BlockRV(name)

    @recorded
    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: Any,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Write a buffer through a copy, which `consumer_blocks` read too; returns the copying block."""
        readers = [block_name(c) for c in consumer_blocks or ()]
        body, name = cache.cache_write(self.func.body, block_name(block), write_buffer_index, storage_scope, readers)
        self._set(body)
        return BlockRV(name)

    @recorded
    def cache_inplace(self, block: BlockRV | str, read_buffer_index: Any, storage_scope: str) -> list[BlockRV]:
        """Let a block modify a copy of a buffer that it reads and writes; returns the two copying blocks."""
        body, names = cached_indices.cache_inplace(self.func.body, block_name(block), read_buffer_index, storage_scope)
        self._set(body)
        return [BlockRV(name) for name in names]

    @recorded
    def cache_index(self, block: BlockRV | str, storage_scope: str, cse_thresh: int = 0) -> list[BlockRV]:
        """Precompute those indices of a block's loads that occur more than `cse_thresh` times; returns the blocks that
        compute them.
        """
        body, names = cached_indices.cache_index(self.func.body, block_name(block), storage_scope, int(cse_thresh))
        self._set(body)
        return [BlockRV(name) for name in names]

    @recorded
    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int) -> None:
        """Keep the overlap of windows of successive iterations, in a buffer as large as one window."""
        self._set(rolling.rolling_buffer(self.func.body, block_name(block), int(write_buffer_index)))

    @recorded
    def set_scope(self, block: BlockRV | str, buffer_index: Any, storage_scope: str) -> None:
        """Set the storage scope of a buffer that the block writes."""
        self._set(cache.set_scope(self.func.body, block_name(block), buffer_index, storage_scope))

    @recorded
    def storage_align(self, block: BlockRV | str, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Make the stride of an axis of a buffer that the block writes equal to `offset` modulo `factor`."""
        self._set(layout.storage_align(self.func.body, block_name(block), buffer_index, axis, factor, offset))

    @recorded
    def transform_layout(
        self,
        block: BlockRV | str,
        buffer: Any,
        index_map: Any,
        pad_value: Any = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Change the layout of a buffer: `buffer` is ("read" or "write", number), a name, or the buffer.

        `pad_value` (a number, or a function of the new indices) is stored into padding that the layout adds, if the
        block writes the buffer; only users of the buffer outside the function can read it. Without one, a layout that
        adds padding is refused unless `assume_injective_transform`.
        """
        found = self.buffer_at(block, buffer)
        axes = self._block(block).iter_vars
        kind = str(axes[0].var.dtype) if axes else "int64"
        chosen = index_map_of(index_map, len(found.shape), kind, node_text)  # (memory of CPUs is flat: no separators)
        if len(chosen.initial_indices) != found.ndim:
            raise refuse(f"{found.name} has {found.ndim} axes, and the map is of {len(chosen.initial_indices)}")
        name = block_name(block)
        writes = [region.buffer for region in self._block(block).writes]
        if not assume_injective_transform:
            layout.require_places(found, chosen, is_padded=pad_value is not None)
        changed = layout.transform_layout(self.func, found, chosen)
        if pad_value is not None and found in writes:
            new = find_block(changed.body, name).block.writes[writes.index(found)].buffer
            is_function = callable(pad_value) and not isinstance(pad_value, IndexMap)
            given = IndexMap.from_func(pad_value, new.ndim) if is_function else pad_value
            changed = layout.with_padding(changed, name, new, chosen, found.shape, given)
        self.func = changed

    @recorded
    def reindex(self, block: BlockRV | str, buffer: Any) -> BlockRV:
        """Read or write a buffer through a copy in the order of the block's axes; returns the copying block."""
        which, index = buffer
        body, name = reindex.reindex(self.func.body, block_name(block), index, which)
        self._set(body)
        return BlockRV(name)

    @recorded
    def reindex_cache_read(
        self, block: BlockRV | str, read_buffer_index: Any, storage_scope: str, index_map: Any
    ) -> BlockRV:
        """Read a buffer through a copy whose indices are a map of the block's axes; returns the copying block."""
        return self._reindex_cache(block, "read", read_buffer_index, storage_scope, index_map)

    @recorded
    def reindex_cache_write(
        self, block: BlockRV | str, write_buffer_index: Any, storage_scope: str, index_map: Any
    ) -> BlockRV:
        """Write a buffer through a copy whose indices are a map of the block's axes; returns the copying block."""
        return self._reindex_cache(block, "write", write_buffer_index, storage_scope, index_map)

    def _reindex_cache(self, block: BlockRV | str, which: str, index: int, scope: str, index_map: Any) -> BlockRV:
        chosen = self._map_of_axes(block, index_map)
        name = block_name(block)
        body, label = reindex.reindex_cache(self.func.body, name, int(index), which, scope, chosen)
        self._set(body)
        return BlockRV(label)

    def _map_of_axes(self, block: BlockRV | str, index_map: Any) -> IndexMap:
        axes = self._block(block).iter_vars
        kind = str(axes[0].var.dtype) if axes else "int64"
        return index_map_of(index_map, len(axes), kind, node_text)

    @recorded
    def read_at(self, loop: LoopRV, block: BlockRV | str, read_buffer_index: int, storage_scope: str) -> BlockRV:
        """Read a buffer through a copy of the part that each iteration of the loop needs, made by one block."""
        body, name = copy_at.read_at(self.func.body, loop.var, block_name(block), read_buffer_index, storage_scope)
        self._set(body)
        return BlockRV(name)

    @recorded
    def write_at(self, loop: LoopRV, block: BlockRV | str, write_buffer_index: int, storage_scope: str) -> BlockRV:
        """Write a buffer through a copy that one block writes back in each iteration of the loop."""
        body, name = copy_at.write_at(self.func.body, loop.var, block_name(block), write_buffer_index, storage_scope)
        self._set(body)
        return BlockRV(name)

    @recorded
    def annotate_buffer_access(
        self, block: BlockRV | str, buffer_index: Any, buf_type: str, gen_new_ranges: Callable[..., Any] | IndexMap
    ) -> None:
        """Declare another access region of a buffer: `gen_new_ranges(*axes)` returns (begin, end) or an index for each
        dim. (A map gives begin and end of each dim, one after the other.) The computation of the block does not change.
        """
        bounds = self._map_of_axes(block, gen_new_ranges)
        body = block_axes.with_region(self.func.body, block_name(block), int(buffer_index), buf_type, bounds)
        self._set(body, loops_chosen=False)

    def buffer_at(self, block: BlockRV | str, place: tuple[str, int]) -> Buffer:
        """The buffer that the block uses in this place, ("read" or "write", number)."""
        kind, index = place
        return layout.buffer_of(self.func.body, block_name(block), index, kind)

    def number_of(self, block: BlockRV | str, which: Any, kind: str) -> int:
        """The number of a buffer among those that the block reads ("read") or writes, given by itself or by name."""
        return int(which) if isinstance(which, SupportsIndex) else self._found(block, which, (kind,))[1]

    def place_of(self, block: BlockRV | str, which: Any) -> tuple[str, int]:
        """("read" or "write", number) of a buffer that the block uses, given so, by itself or by name."""
        if isinstance(which, (tuple, list)) and len(which) == 2:
            kind, index = str(which[0]), int(which[1])
            if kind not in ("read", "write"):
                raise refuse(f'a buffer is given as ("read" or "write", number), not {tuple(which)!r}')
            return kind, index
        return self._found(block, which, ("write", "read"))

    def _found(self, block: BlockRV | str, which: str | Buffer, kinds: tuple[str, ...]) -> tuple[str, int]:
        found = self._block(block)
        for kind in kinds:
            for index, region in enumerate(found.reads if kind == "read" else found.writes):
                if region.buffer is which or region.buffer.name == which:
                    return kind, index
        name = which.name if isinstance(which, Buffer) else which
        used = ", ".join(f"{r.buffer.name} (write)" for r in found.writes)
        used = ", ".join([used, *(f"{r.buffer.name} (read)" for r in found.reads)])
        uses = "reads" if kinds == ("read",) else "writes" if kinds == ("write",) else "uses"
        raise refuse(f"block {block_name(block)} {uses} no buffer {name!r}", help=f"it uses {used}")
