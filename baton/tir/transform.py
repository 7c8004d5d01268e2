"""Passes over TIR (`tvm.tir.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.user_passes", "prim_func_pass"),
        **names("passes.tir.prim_func_pass", "AnnotateEntryFunc Apply BindTarget Filter PrimFuncPass VerifyMemory"),
        **names("passes.tir.simplify", "RenormalizeSplitPattern Simplify"),
        **names("passes.tir.remove_no_op", "RemoveAssume RemoveNoOp RemoveStoreUndef SkipAssert"),
        **names("passes.tir.block_steps", "ConvertBlocksToOpaque LowerInitBlock LowerMatchBuffer"),
        **names("passes.tir.lower_opaque_block", "LowerOpaqueBlock"),
        **names("passes.tir.flatten_accesses", "FlattenBuffer"),
        **names("passes.tir.allocation_places", "PlanAndUpdateBufferAllocationLocation"),
        **names("passes.tir.buffer_compaction", "CompactBufferAllocation"),
        **names("passes.tir.lowering.loop_steps", "ConvertForLoopsToSerial RewriteUnsafeSelect InjectVirtualThread"),
        **names("passes.tir.lowering.loop_steps", "VectorizeLoop"),
        **names("passes.tir.unroll_loop", "UnrollLoop"),
        **names(
            "passes.tir.hoist_expression", "HoistExpression HoistIfThenElse HoistedConditionals HoistedLetBindings"
        ),
        **names("passes.tir.loop_partition", "LoopPartition"),
        **names("passes.tir.storage_flatten", "StorageFlatten"),
        **names("passes.tir.storage_rewrite", "StorageRewrite"),
        **names("passes.tir.narrow_data_type", "ForceNarrowIndexToInt32 NarrowDataType"),
        **names("passes.tir.compute_legalize", "BF16ComputeLegalize FP8ComputeLegalize"),
        **names("passes.tir.ssa", "ConvertSSA"),
        **names("passes.tir.software_pipeline", "InjectSoftwarePipeline"),
        **names("passes.tir.lower_intrin", "LowerIntrin"),
        **names("passes.tir.common_subexpressions", "CommonSubexprElimTIR"),
        **names("passes.tir.weight_layout", "RemoveWeightLayoutRewriteBlock"),
    },
    before=wire,
)
