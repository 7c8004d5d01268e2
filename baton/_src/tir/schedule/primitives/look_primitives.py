"""Primitives of `Schedule` that look for blocks and loops, and change nothing."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import BlockRV, ExprRV, LoopRV, block_name
from baton._src.tir.schedule.primitives.recording import recorded
from baton._src.tir.schedule.srefs import StmtSRef
from baton._src.tir.schedule.tree import blocks_directly_in, find_block, outermost_blocks, path_to, realizes


class LookPrimitives:
    """A base class of `Schedule`; `func` is the current function."""

    func: PrimFunc

    def get(self, rand_var_or_sref: BlockRV | LoopRV | ExprRV | StmtSRef | str) -> Any:
        """The `Block`, `For` or number that a handle refers to."""
        raise NotImplementedError

    @recorded
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block called `name`, of the current function or of another, which does not become the current one."""
        del func_name  # what is recorded works on that function
        find_block(self.func.body, name)
        return BlockRV(name)

    @recorded
    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around a block up to the next block outside, outermost first."""
        path = path_to(self.func.body, find_block(self.func.body, block_name(block)))[:-1]
        found: list[LoopRV] = []
        for item in path:
            if isinstance(item, st.Block):
                found = []
            elif isinstance(item, st.For):
                found.append(LoopRV(item.loop_var))
        return found

    @recorded
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV | str) -> list[BlockRV]:
        """The blocks directly inside a block or loop."""
        return [BlockRV(r.block.name_hint) for r in blocks_directly_in(self.get(block_or_loop))]

    @recorded
    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """The earlier blocks beside a block that write what it reads or writes."""
        earlier, own, _ = self._beside(block)
        used = _buffers(own.reads, own.writes)
        return [BlockRV(b.name_hint) for b in earlier if used & _buffers(b.writes)]

    @recorded
    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """The later blocks beside a block that read or write what it writes."""
        _, own, later = self._beside(block)
        written = _buffers(own.writes)
        return [BlockRV(b.name_hint) for b in later if written & _buffers(b.reads, b.writes)]

    def _beside(self, block: BlockRV | str) -> tuple[list[st.Block], st.Block, list[st.Block]]:
        """A block, between those before and behind it that are directly inside the enclosing block, too: in its init
        or in its body, whichever has the block.
        """
        realize = find_block(self.func.body, block_name(block))
        path = path_to(self.func.body, realize)
        outer = max((i for i, n in enumerate(path) if isinstance(n, st.Block)), default=-1)
        order = [r.block for r in outermost_blocks(path[outer + 1])]
        place = order.index(realize.block)
        return order[:place], realize.block, order[place + 1 :]

    @recorded
    def get_output_blocks(self, scope_block: BlockRV | str) -> list[BlockRV]:
        """The blocks inside that write memory visible outside the function."""
        own = {b for r in realizes(self.func.body) for b in r.block.alloc_buffers}
        inside = realizes(find_block(self.func.body, block_name(scope_block)).block.body)
        return [BlockRV(r.block.name_hint) for r in inside if not _buffers(r.block.writes) <= own]


def _buffers(*regions: Collection[Any]) -> set[Buffer]:
    return {region.buffer for some in regions for region in some}
