"""Passes over Relax (`tvm.relax.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relax.annotate_tir_op_pattern", "AnnotateTIROpPattern"),
        **names("passes.relax.attach_global_symbol", "AttachGlobalSymbol"),
        **names("passes.relax.bind_params", "BindParams BindSymbolicVars"),
        **names("passes.relax.batch_slice_products", "BatchSliceProducts"),
        **names("passes.relax.block_channels", "BlockChannels"),
        **names("passes.relax.channels_first", "ChannelsFirst"),
        **names("passes.relax.phases_of_transposed", "PhasesOfTransposed"),
        **names("passes.relax.call_tir_rewrite", "CallTIRRewrite"),
        **names("passes.relax.canonicalize_bindings", "CanonicalizeBindings"),
        **names("passes.relax.dataflow_blocks", "ConvertToDataflow ToNonDataflow"),
        **names("passes.relax.dead_code_elimination", "DeadCodeElimination"),
        **names("passes.relax.decompose_ops", "DecomposeOps DecomposeOpsForInference DecomposeOpsForTraining"),
        **names("passes.relax.eliminate_common_subexpr", "EliminateCommonSubexpr"),
        **names("passes.relax.fold_constant", "FoldConstant"),
        **names("passes.relax.fold_scale_into_weights", "FoldScaleIntoWeights"),
        **names("passes.relax.fuse_attention", "FuseAttention"),
        **names("passes.relax.fuse_ops", "FuseOps"),
        **names("passes.relax.fuse_tir", "FuseTIR"),
        **names("passes.relax.inline_private_functions", "InlinePrivateFunctions"),
        **names("passes.relax.kill_after_last_use", "KillAfterLastUse"),
        **names("passes.relax.lambda_lift", "LambdaLift"),
        **names("passes.relax.legalize_ops", "LegalizeOps"),
        **names("passes.relax.lift_transform_params", "LiftTransformParams"),
        **names("passes.relax.normalize", "Normalize NormalizeGlobalVar"),
        **names("passes.relax.remove_purity_checking", "RemovePurityChecking"),
        **names("passes.relax.rewrite_dataflow_reshape", "RewriteDataflowReshape"),
        **names("passes.relax.compute_prim_value", "ComputePrimValue"),
        **names("passes.relax.lower_alloc_tensor", "LowerAllocTensor"),
        **names("passes.relax.lower_runtime_builtin", "LowerRuntimeBuiltin VMBuiltinLower"),
        **names("passes.relax.static_plan_block_memory", "StaticPlanBlockMemory"),
        **names("passes.relax.vm_shape_lower", "VMShapeLower"),
        **names("passes.relax.topological_sort", "TopologicalSort"),
        **names("passes.relax.gradient", "Gradient"),
        **names("passes.relax.fuse_ops_by_pattern", "FuseOpsByPattern FusionPattern PatternCheckContext"),
        **names("passes.relax.merge_composite_functions", "MergeCompositeFunctions"),
        **names("passes.relax.run_codegen", "RunCodegen"),
        **names(
            "passes.relax.matmul_rewrites",
            "AdjustMatmulOrder ExpandMatmulOfSum ReorderTakeAfterMatmul ReorderPermuteDimsAfterConcat",
        ),
        **names(
            "passes.relax.combine_parallel_matmul",
            "CombineParallelMatmul",
        ),
        **names(
            "passes.relax.dataflow_use_inplace_calls",
            "DataflowUseInplaceCalls",
        ),
        **names(
            "passes.relax.unused_interface",
            "ExpandTupleArguments RemoveUnusedParameters RemoveUnusedOutputs",
        ),
        **names("passes.relax.to_mixed_precision", "ToMixedPrecision"),
        **names("passes.relax.convert_layout", "ConvertLayout"),
        **names("passes.relax.param_interfaces", "BundleModelParams UpdateParamStructInfo"),
        **names("passes.relax.virtual_devices", "RealizeVDevice UpdateVDevice"),
        **names("passes.relax.remove_redundant_reshape", "RemoveRedundantReshape"),
        **names("passes.relax.fast_math", "FastMathTransform"),
        **names("passes.relax.lazy_interfaces", "LazyGetInput LazySetOutput"),
        **names("passes.relax.lazy_transform_params", "LazyTransformParams"),
        **names("passes.relax.fuse_transpose_matmul", "FuseTransposeMatmul"),
        **names("passes.relax.attach_layout_free_buffers", "AttachAttrLayoutFreeBuffers"),
        **names("passes.relax.allocate_workspace", "AllocateWorkspace"),
        **names("passes.relax.alter_op_impl", "AlterOpImpl"),
        **names("passes.relax.optimize_layout_transform", "OptimizeLayoutTransform"),
        **names("transform.passes", "Pass Sequential FunctionPass"),
        **names("transform.context", "PassContext PassInfo"),
        **names("transform.decorators", "module_pass"),
        **renamed(
            "driver.tvm_names.user_passes", function_pass="relax_function_pass", dataflowblock_pass="dataflowblock_pass"
        ),
    },
    before=wire,
)
