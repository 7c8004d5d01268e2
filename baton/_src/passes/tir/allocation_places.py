"""PlanAndUpdateBufferAllocationLocation: buffers are allocated as deep in the loops as all accesses allow.

    C = alloc (128,); for i in 16: { for j in 8: C[i * 8 + j] = ...; for j in 8: ... = C[i * 8 + j] }
    ->  for i in 16: { block: C = alloc (128,); for j in 8: C[i * 8 + j] = ...; for j in 8: ... = C[i * 8 + j] }

If iterations of a loop depend on what earlier ones stored in a buffer, it is allocated outside the loop
(`tir.buffer_scopes`).
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.traverse import post_order, rebuild
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.buffer_scopes import Scope, accesses
from baton._src.tir.analysis.regions import pointer_arguments
from baton._src.tir.buffer import Buffer
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.tree import refreshed
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class PlanAndUpdateBufferAllocationLocation(PrimFuncPass):
    """A buffer is allocated by the innermost loop (in a block of its own) or block around all of its accesses. Buffers
    without accesses are removed; the read and write regions of blocks below the outermost one are recomputed.
    """

    def body(self, body: st.Stmt, function: PrimFunc, ctx: PassContext) -> st.Stmt:
        order = post_order(body)
        own = {b.data: b for block in order if isinstance(block, st.Block) for b in block.alloc_buffers}
        here: dict[Scope, list[Buffer]] = {}
        for var, access in accesses(body, own).items():
            if var in own:
                here.setdefault(access.may_be_inside()[-1], []).append(own[var])
        outermost = next((n for n in reversed(order) if isinstance(n, st.Block)), None)
        changed: dict[Any, Any] = {}
        for item in order:
            made = rebuild(item, changed)
            buffers = tuple(here.get(item, ()))
            if isinstance(item, st.Block):
                if buffers != item.alloc_buffers:
                    made = made.with_fields(alloc_buffers=buffers)
                if item is not outermost and _tells_accesses(item):
                    made = refreshed(made)
                elif buffers:
                    made = _without(made, buffers)
            elif buffers:
                block = refreshed(st.Block((), (), (), "", made.body, alloc_buffers=buffers))
                made = made.with_fields(body=st.BlockRealize((), tir.IntImm("bool", 1), block))
            if made is not item:
                changed[item] = made
        found: st.Stmt = changed.get(body, body)
        return found


def _without(block: st.Block, own: tuple[Buffer, ...]) -> st.Block:
    """The block with regions of what is outside of it alone: its own memory is not there before and after it."""
    reads, writes = (tuple(r for r in regions if r.buffer not in own) for regions in (block.reads, block.writes))
    return block.with_fields(reads=reads, writes=writes)


def _tells_accesses(block: st.Block) -> bool:
    """Whether loads and stores show all accesses of a block: with views and pointers they do not, and its regions are
    kept.
    """
    views = any(isinstance(n, st.MatchBufferRegion) for n in post_order(block))
    return not views and not pointer_arguments(block)


__all__ = ["PlanAndUpdateBufferAllocationLocation"]
