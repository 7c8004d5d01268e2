"""Kernels whose loops a script chose: their memory is allocated where it is used, and holds what is used there.

    for i in 32, j in 32:                        for i in 32, j in 32:
        C_tile[i * 32 .., j * 32 ..] = ..    ->      C_tile = alloc (32, 32)
        C[..] = C_tile[..]                           C_tile[..] = ..; C[..] = C_tile[..]

A stage that a schedule moved into its reader's loops (`compute_at`, `reverse_compute_at`) otherwise keeps the memory of
the whole tensor, whose rows are too far apart for the caches. TVM compiles such kernels so, too.
"""

from __future__ import annotations

from baton._src.passes.tir.allocation_places import PlanAndUpdateBufferAllocationLocation
from baton._src.passes.tir.block_steps import ConvertBlocksToOpaque, LowerInitBlock
from baton._src.passes.tir.buffer_compaction import CompactBufferAllocation
from baton._src.tir import stmt as st
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

_STEPS = (
    LowerInitBlock(),
    PlanAndUpdateBufferAllocationLocation(),
    ConvertBlocksToOpaque(),
    CompactBufferAllocation(),
)


def with_compact_memory(func: PrimFunc) -> PrimFunc:
    """The kernel with its memory in place; itself if it allocates none around its loops."""
    root = func.body.block if isinstance(func.body, st.BlockRealize) else None
    if root is None or not root.alloc_buffers:
        return func
    body, context = func.body, PassContext.current()
    for step in _STEPS:
        body = step.body(body, func, context)
    return func.with_fields(body=body)
