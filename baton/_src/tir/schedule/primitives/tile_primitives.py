"""Primitives of `Schedule` on tiles, axes and parts of loops."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.index_map_from_text import index_map_of
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV, LoopRV, block_name
from baton._src.tir.schedule.primitives.recording import recorded
from baton._src.tir.schedule.transformations import block_axes, blockize, blockize_several, padding, parts, tensorize
from baton._src.tir.schedule.transformations.tensorize import TensorIntrin
from baton._src.tir.schedule.tree import find_block, refuse, replace_buffer
from baton._src.tir.text.printer import node_text


class TilePrimitives:
    """A base class of `Schedule`; `func` is the current function."""

    func: PrimFunc

    def _set(self, body: st.Stmt, loops_chosen: bool = True) -> None:
        raise NotImplementedError

    def buffer_at(self, block: BlockRV | str, which: Any) -> Buffer:
        raise NotImplementedError

    def in_function_of(self, given: Any, name: str | None = None) -> AbstractContextManager[None]:
        raise NotImplementedError

    @recorded
    def blockize(self, target: LoopRV | Sequence[BlockRV | str], preserve_unit_iters: bool = True) -> BlockRV:
        """Turn a loop with its body into a block, or consecutive blocks with the loops around each; returns that
        block.
        """
        if isinstance(target, LoopRV):
            body, name = blockize.blockize(self.func.body, target.var, preserve_unit_iters)
        elif isinstance(target, list | tuple) and all(isinstance(block, BlockRV) for block in target):
            names = [block_name(block) for block in target]
            body, name = blockize_several.blockize_several(self.func.body, names, preserve_unit_iters)
        else:
            raise refuse(f"blockize takes a loop or a list of blocks, not {target!r}")
        self._set(body)
        return BlockRV(name)

    @recorded
    def tensorize(
        self, block_or_loop: BlockRV | LoopRV | str, tensor_intrin: str, preserve_unit_iters: bool = True
    ) -> None:
        """Compute a tile (a block, or the body of a loop) by a registered intrinsic."""
        intrinsic = TensorIntrin.get(tensor_intrin)
        assert intrinsic is not None
        body = self.func.body
        if isinstance(block_or_loop, LoopRV):
            body, name = blockize.blockize(body, block_or_loop.var, preserve_unit_iters)
        else:
            name = block_name(block_or_loop)
        self._set(tensorize.tensorize(body, name, intrinsic))

    def tensorize_by(self, block: BlockRV | str, intrinsic: TensorIntrin) -> None:
        """`tensorize` of a block by an intrinsic without a name; traces do not record it."""
        self._set(tensorize.tensorize(self.func.body, block_name(block), intrinsic))

    @recorded
    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Round up the axes of a sum of products to multiples, on copies padded with zeros."""
        self._set(block_axes.pad_einsum(self.func.body, block_name(block), padding))

    @recorded
    def transform_block_layout(self, block: BlockRV | str, index_map: Any) -> None:
        """Change the axes and loops of a block by an index map."""
        axes = find_block(self.func.body, block_name(block)).block.iter_vars
        chosen = index_map_of(index_map, len(axes), str(axes[0].var.dtype) if axes else "int64", node_text)
        self._set(block_axes.transform_block_layout(self.func.body, block_name(block), chosen))

    @recorded
    def reorder_block_iter_var(self, block: BlockRV | str, new_order: Sequence[int]) -> None:
        """Reorder the axes of a block; loops stay."""
        self._set(block_axes.reorder_axes(self.func.body, block_name(block), [int(n) for n in new_order]))

    @recorded
    def unsafe_hide_buffer_access(self, block: BlockRV | str, buf_type: str, buf_index_array: Sequence[int]) -> None:
        """Remove declared read ("read") or write ("write") regions of a block."""
        numbers = [int(n) for n in buf_index_array]
        self._set(block_axes.without_regions(self.func.body, block_name(block), buf_type, numbers))

    @recorded
    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Store the pad value in a block before the loop; the block itself then only copies data."""
        body, name = padding.decompose_padding(self.func.body, block_name(block), loop.var)
        self._set(body)
        return BlockRV(name)

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """Whether `decompose_padding` applies to the block."""
        with self.in_function_of((block, loop)):
            try:
                padding.decompose_padding(self.func.body, block_name(block), loop.var)
            except DiagnosticError:
                return False
            return True

    @recorded
    def loop_partition(self, loop: LoopRV, factors: Sequence[Any], preserve_unit_iters: bool = True) -> list[LoopRV]:
        """Partition the loop into consecutive ones of these extents; one may be None, and there is one more for what
        they leave. Axes are not bound to loops of
        one iteration unless `preserve_unit_iters`.
        """
        body, made = parts.loop_partition(self.func.body, loop.var, factors, preserve_unit_iters)
        self._set(body)
        return [LoopRV(v) for v in made]

    @recorded
    def merge(self, *loops: LoopRV) -> LoopRV:
        """Merge the loops of consecutive nests into one over all of their bodies."""
        body, made = parts.merge(self.func.body, [loop.var for loop in loops])
        self._set(body)
        return LoopRV(made)

    @recorded
    def unsafe_set_dtype(self, block: BlockRV | str, buffer_index: Any, dtype: str) -> None:
        """Change the dtype of a buffer that the block writes: values are rounded to it."""
        found = self.buffer_at(block, ("write", buffer_index))
        self._set(block_axes.unsafe_set_dtype(self.func.body, found, dtype))

    @recorded
    def set_axis_separator(self, block: BlockRV | str, buffer: Any, axis_separators: Sequence[int] | None) -> None:
        """Set between which axes a buffer's memory is split; memory of CPUs is flat, so the code does not change."""
        found = self.buffer_at(block, buffer)
        wanted = [int(getattr(a, "value", a)) for a in axis_separators or ()]
        if any(not 0 < a < found.ndim for a in wanted) or sorted(wanted) != wanted:
            raise refuse(f"separators stand between the {found.ndim} axes of {found.name}, in order; given {wanted}")
        new = found.with_fields(axis_separators=tuple(wanted))
        mapping = {v: new if b is found else b for v, b in self.func.buffer_map.items()}
        self.func = self.func.with_fields(body=replace_buffer(self.func.body, found, new), buffer_map=mapping)
