"""StorageFlatten: loops without blocks, over buffers with one index; how TVM shows what a schedule of te became.

    with T.block("C"): ...          ->      for i, j in T.grid(4, 8):
        C[v_i, v_j] = A[v_i, v_j]               C_1[i * 8 + j] = A_1[i * 8 + j]

It is the other passes of `tir.transform` in their order: reductions are initialised, buffers allocated where they are
used, blocks removed, buffers flattened.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.passes.tir.allocation_places import PlanAndUpdateBufferAllocationLocation
from baton._src.passes.tir.block_steps import ConvertBlocksToOpaque, LowerInitBlock, LowerMatchBuffer
from baton._src.passes.tir.buffer_compaction import CompactBufferAllocation
from baton._src.passes.tir.flatten_accesses import FlattenBuffer
from baton._src.passes.tir.lower_opaque_block import LowerOpaqueBlock
from baton._src.passes.tir.prim_func_pass import PrimFuncPass
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext

STEPS: tuple[PrimFuncPass, ...] = (
    LowerInitBlock(),
    PlanAndUpdateBufferAllocationLocation(),
    ConvertBlocksToOpaque(),
    LowerMatchBuffer(),
    CompactBufferAllocation(),
    LowerOpaqueBlock(),
    FlattenBuffer(),
)


@dataclass(frozen=True)
class StorageFlatten(PrimFuncPass):
    """See the module. Nothing depends on the options: allocations are aligned when they are made."""

    cache_line_size: int = 64
    create_bound_attribute: bool = False

    def run_function(self, function: PrimFunc, module: IRModule, ctx: PassContext) -> Any:
        for step in STEPS:
            function = step.run_function(function, module, ctx)
        return function
