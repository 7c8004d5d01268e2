"""The names left out of `te`, `tir`, `topi` and `arith`."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.driver.tvm_names.left_out.reasons import GPU, PLANNED, TUNING

KERNEL_NAMES: Mapping[str, Mapping[str, str]] = {
    GPU: {
        "topi": "cuda gpu mali bifrost intel_graphics adreno rocm hexagon",
        "tir.analysis": "verify_gpu_code get_vtcm_compaction_passes",
        "tir": (
            "tvm_thread_allreduce tvm_load_matrix_sync tvm_store_matrix_sync tvm_mma_sync tvm_bmma_sync "
            "tvm_fill_fragment ptx_mma ptx_mma_sp mma_store mma_fill ptx_ldmatrix ptx_cp_async ptx_cp_async_bulk "
            "ptx_commit_group ptx_wait_group ptx_cp_async_barrier ptx_init_barrier_thread_count ptx_arrive_barrier "
            "ptx_arrive_barrier_expect_tx ptx_wait_barrier create_barriers dp4a tvm_thread_invariant"
        ),
        "tir.transform": (
            "AnnotateDeviceRegions CombineContextCall DecorateDeviceScope DefaultGPUSchedule InferFragment "
            "InjectPTXAsyncCopy InjectPTXLDG32 InjectPermutedLayout LowerAsyncDMA LowerCrossThreadReduction "
            "LowerDeviceKernelLaunch LowerDeviceStorageAccessInfo LowerThreadAllreduce LowerVtcmAlloc LowerWarpMemory "
            "ManifestSharedMemoryLocalStage MergeSharedMemoryAllocations RemapThreadAxis SplitHostDevice ThreadSync "
            "InjectDoubleBuffer TransformMmaBufferLayout UnifyThreadBinding LiftThreadBinding LowerAutoCopy CoProcSync "
            "TextureFlatten"
        ),
        "tir.tensor_intrin": "cuda rocm metal hexagon dot_product_common",
    },
    TUNING: {
        "topi": "arm_cpu",
        "topi.nn": (
            "conv2d_alter_layout conv2d_legalize conv2d_infer_layout conv2d_transpose_legalize conv3d_alter_layout "
            "dense_alter_layout dense_legalize batch_matmul_legalize qnn_conv2d_alter_layout qnn_dense_alter_layout "
            "sparse_dense_alter_layout sparse_conv2d_alter_layout bitserial_conv2d_legalize"
        ),
        "tir.schedule.analysis": "suggest_index_map AutoTensorizeMappingInfo get_auto_tensorize_mapping_info",
    },
    "its result's size depends on the elements, which no kernel can write: call it in Relay or Relax": {
        "topi": "argwhere unique nonzero sparse_fill_empty_rows",
    },
    "te computations become blocks (te.create_prim_func); nothing between them and kernels is kept": {
        "te.schedule": "InferBound ScheduleOps",
    },
    "functions of topi are Python's": {"topi": "cpp"},
    "it lays weights out for kernels of TVM's own; baton's lay them out themselves: pass the weight as it is": {
        "topi.nn": (
            "conv2d_gemm_weight_transform conv2d_winograd_nnpack_weight_transform conv3d_winograd_weight_transform "
            "conv2d_transpose_alter_layout matmul_legalize take_legalize"
        ),
    },
    "random sparse matrices are SciPy's: scipy.sparse.random(m, n, density, format='bsr')": {"topi.sparse": "utils"},
    "scans are topi.cumsum and topi.cumprod; te.scan takes any step": {"topi": "scanop"},
    PLANNED: {
        "tir": "usmp",
        "tir.transform": "UnifiedStaticMemoryPlanner",
        "tir.analysis": (
            "apply_prim_func_arg_and_result_memory_constraints get_prim_func_arg_and_result_memory_constraints"
        ),
    },
    "it is MLIR's; arith.IntSet has intervals": {
        "arith": "PresburgerSet",
        "arith.int_set": "PresburgerSet",
    },
    "kernels are read from Python by te.hybrid.script; schedules are built by tvm.build": {
        "te.hybrid": "build parse parser module HybridModule source_to_op decorate",
    },
    "not implemented: nothing in baton stands behind it": {
        "te": "span_if_all_batch SpecializedCondition",
        "te.schedule": "SpecializedCondition",
    },
    "axes begin at 0 and are split and fused, nothing else: Stage.relations": {"te.schedule": "Singleton"},
    "vectors have a fixed length: tir.Ramp and Broadcast of so many lanes": {
        "tir": "get_active_lane_mask get_vscale_expr",
        "tir.op": "get_active_lane_mask get_vscale_expr",
    },
    "te.extern takes what a call of an intrinsic computes; Stage.tensorize puts one into a loop nest": {
        "te.tensor": "TensorIntrinCall",
    },
    "it prepares kernels for TVM's code generator; tvm.build does that by itself: build the module without the pass": {
        "tir.transform": (
            "MakePackedAPI MakeUnpackedAPI LowerTVMBuiltin LowerCustomDatatypes LegalizePackedCalls "
            "PointerValueTypeRewrite InstallDebugSpans InstrumentProfileIntrinsics"
        ),
    },
    "tvm.build stores bfloat16 and float8 as they are: build the module without the pass": {
        "tir.transform": "BF16StorageLegalize FP8StorageLegalize",
    },
    "tvm.build compiles constants into the kernel that has them: build the module without the pass": {
        "tir.transform": "ExtractPrimFuncConstants",
    },
    "tvm.build checks indices that could be outside of their buffers: build the module without the pass": {
        "tir.transform": "InstrumentBoundCheckers",
    },
    "iterations that need no condition are told apart by tir.transform.LoopPartition": {
        "tir.transform": "ReduceBranchingThroughOvercompute UseAssumeToReduceBranches",
    },
    "intrinsics of your own are tir.TensorIntrin.register": {"tir.tensor_intrin": "riscv_cpu"},
}
"""Why: below what, which names."""
