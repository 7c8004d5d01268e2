"""Primitives of `Schedule` about buffers: copies of them, how they lie in memory, and what a block says it accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.index_map import IndexMap, index_map_of
from baton._src.tir.operators import convert
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule import block_axes, cache, cached_indices, compute_at, layout, reindex, rolling
from baton._src.tir.schedule.handles import BlockRV, LoopRV, block_name
from baton._src.tir.schedule.trace import recorded
from baton._src.tir.schedule.tree import find_block, refuse
from baton._src.tir.text.printer import node_text


class BufferPrimitives:
    """What `Schedule` is built on; `func` is the function as it stands."""

    func: PrimFunc

    def _set(self, body: st.Stmt, loops_chosen: bool = True) -> None:
        raise NotImplementedError

    def _block(self, block: BlockRV | str) -> st.Block:
        return find_block(self.func.body, block_name(block)).block

    @recorded
    def cache_read(
        self,
        block: BlockRV | str,
        read_buffer_index: int,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Read a buffer through a copy, in the block or in several; returns the copying block."""
        readers = [block_name(c) for c in consumer_blocks or ()]
        body, name = cache.cache_read(self.func.body, block_name(block), read_buffer_index, storage_scope, readers)
        self._set(body)
        return BlockRV(name)

    @recorded
    def cache_write(
        self,
        block: BlockRV | str,
        write_buffer_index: int,
        storage_scope: str,
        consumer_blocks: Sequence[BlockRV | str] | None = None,
    ) -> BlockRV:
        """Write a buffer through a copy, which `consumer_blocks` read too; returns the copying block."""
        readers = [block_name(c) for c in consumer_blocks or ()]
        body, name = cache.cache_write(self.func.body, block_name(block), write_buffer_index, storage_scope, readers)
        self._set(body)
        return BlockRV(name)

    @recorded
    def cache_inplace(
        self, block: BlockRV | str, read_buffer_index: int | str | Buffer, storage_scope: str
    ) -> list[BlockRV]:
        """Let a block change a copy of a buffer that it reads and writes; returns the blocks that copy there and back.

        The buffer is given by its number among those the block reads, or by itself or by name.
        """
        index = self._number_of_read(block, read_buffer_index)
        body, names = cached_indices.cache_inplace(self.func.body, block_name(block), index, storage_scope)
        self._set(body)
        return [BlockRV(name) for name in names]

    def _number_of_read(self, block: BlockRV | str, which: int | str | Buffer) -> int:
        if isinstance(which, SupportsIndex):
            return int(which)
        reads = self._block(block).reads
        found = [n for n, region in enumerate(reads) if region.buffer is which or region.buffer.name == which]
        if not found:
            raise refuse(f"block {block_name(block)} reads no buffer {which!r}")
        return found[0]

    @recorded
    def cache_index(self, block: BlockRV | str, storage_scope: str, cse_thresh: int = 0) -> list[BlockRV]:
        """Compute the indices of a block's loads beforehand, those that occur more than `cse_thresh` times; returns the
        blocks that do."""
        body, names = cached_indices.cache_index(self.func.body, block_name(block), storage_scope, int(cse_thresh))
        self._set(body)
        return [BlockRV(name) for name in names]

    @recorded
    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int) -> None:
        """Keep what windows of successive iterations have in common, in a buffer as large as one window."""
        self._set(rolling.rolling_buffer(self.func.body, block_name(block), int(write_buffer_index)))

    @recorded
    def set_scope(self, block: BlockRV | str, buffer_index: int, storage_scope: str) -> None:
        """Where a buffer that the block writes is stored."""
        self._set(cache.set_scope(self.func.body, block_name(block), buffer_index, storage_scope))

    @recorded
    def storage_align(self, block: BlockRV | str, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Distances between neighbours of an axis, in a buffer the block writes, at `offset` modulo `factor`."""
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
        """Lay a buffer out anew: `buffer` is ("read" or "write", number), a name, or the buffer.

        `pad_value` (a number, or a function of the new indices) is stored into padding that the layout adds, if the
        block writes the buffer; nothing reads it but who is given the buffer.
        """
        del assume_injective_transform
        found = self._buffer(block, buffer)
        axes = self._block(block).iter_vars
        kind = str(axes[0].var.dtype) if axes else "int64"
        chosen = index_map_of(index_map, len(found.shape), kind, node_text)  # (memory of CPUs is flat: no separators)
        name = block_name(block)
        writes = [region.buffer for region in self._block(block).writes]
        changed = layout.transform_layout(self.func, found, chosen)
        if pad_value is not None and found in writes:
            new = find_block(changed.body, name).block.writes[writes.index(found)].buffer
            given = IndexMap.from_func(pad_value, new.ndim) if callable(pad_value) else pad_value
            changed = layout.with_padding(changed, name, new, chosen, found.shape, given)
        self.func = changed

    @recorded
    def reindex(self, block: BlockRV | str, buffer: Any) -> BlockRV:
        """Read or write a buffer through a copy in the order of the block's axes; returns the copying block."""
        which, index = self._place_of(block, buffer)
        body, name = reindex.reindex(self.func.body, block_name(block), index, which)
        self._set(body)
        return BlockRV(name)

    @recorded
    def reindex_cache_read(
        self, block: BlockRV | str, read_buffer_index: int, storage_scope: str, index_map: Any
    ) -> BlockRV:
        """Read a buffer through a copy whose indices are a map of the block's axes; returns the copying block."""
        return self._reindex_cache(block, "read", read_buffer_index, storage_scope, index_map)

    @recorded
    def reindex_cache_write(
        self, block: BlockRV | str, write_buffer_index: int, storage_scope: str, index_map: Any
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
        """Read a buffer through a copy that each iteration of the loop makes of what it needs."""
        body, name = cache.cache_read(self.func.body, block_name(block), read_buffer_index, storage_scope)
        self._set(compute_at.compute_at(body, name, loop.var))
        return BlockRV(name)

    @recorded
    def write_at(self, loop: LoopRV, block: BlockRV | str, write_buffer_index: int, storage_scope: str) -> BlockRV:
        """Write a buffer through a copy that each iteration of the loop writes back."""
        body, name = cache.cache_write(self.func.body, block_name(block), write_buffer_index, storage_scope)
        self._set(compute_at.reverse_compute_at(body, name, loop.var))
        return BlockRV(name)

    def annotate_buffer_access(
        self, block: BlockRV | str, buffer_index: int, buf_type: str, gen_new_ranges: Callable[..., Any]
    ) -> None:
        """Let the block say it accesses another box of a buffer: `gen_new_ranges(*axes)` gives (begin, end) or an index
        for each dim. What the block does stays as it is.
        """

        def bounds(*axes: Any) -> list[Any]:
            pairs = [r if isinstance(r, (tuple, list)) else (r, r + 1) for r in gen_new_ranges(*axes)]
            return [end for pair in pairs for end in pair]

        names = [axis.var.copy() for axis in self._block(block).iter_vars]
        self.annotate_buffer_bounds(
            block, buffer_index, buf_type, IndexMap(tuple(names), tuple(map(convert, bounds(*names))))
        )

    @recorded
    def annotate_buffer_bounds(
        self, block: BlockRV | str, buffer_index: int, buf_type: str, index_map: IndexMap
    ) -> None:
        """`annotate_buffer_access` as a map of the axes to begin and end of each dim, one after the other."""
        body = block_axes.with_region(self.func.body, block_name(block), int(buffer_index), buf_type, index_map)
        self._set(body, loops_chosen=False)

    def _buffer(self, block: BlockRV | str, which: Any) -> Buffer:
        if isinstance(which, Buffer):
            return which
        kind, index = self._place_of(block, which)
        return layout.buffer_of(self.func.body, block_name(block), index, kind)

    def _place_of(self, block: BlockRV | str, which: Any) -> tuple[str, int]:
        """("read" or "write", number) of a buffer that the block uses."""
        if isinstance(which, tuple) and len(which) == 2:
            return str(which[0]), int(which[1])
        found = self._block(block)
        for kind, regions in (("write", found.writes), ("read", found.reads)):
            for index, region in enumerate(regions):
                if region.buffer is which or region.buffer.name == which:
                    return kind, index
        raise refuse(f"block {block_name(block)} uses no buffer {which!r}")
