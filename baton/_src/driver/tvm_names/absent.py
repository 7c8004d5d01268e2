"""What TVM v0.19 has and baton does not, by path below `tvm`, and why: the text of the errors that scripts get."""

from __future__ import annotations

from baton._src.driver.tvm_names.split_modules import ASK_THE_PACKAGE

_TUNING = "baton's schedules need no tuning: build for a target, and a rule for it is chosen"
_OLD_TUNING = "it is older than meta_schedule, which is served: tvm.meta_schedule, and passes named MetaSchedule..."
_MEASURED = "every candidate is measured: no model of costs or features of programs is asked"
_RULES = "rules schedule whole kernels (PostOrderApply leaves open what they do); a script's own space is ScheduleFn"
_GPU = "baton compiles for CPUs"
_IMPORTER = "baton imports ONNX models (from_onnx) and PyTorch programs (from_exported_program, from_pytorch)"
_BYOC = "baton generates all code itself; it hands no part of a program to other libraries"
_ONE_PROCESS = "baton runs programs in one process, on one CPU; there are no meshes of devices"
_MEMORY = "storages have no scopes on CPUs"
_SPARSE = "baton makes no weights sparse: call the operators on sparse tensors with weights that are"
_TOOLCHAIN = "baton's libraries need no compiler or linker: export_library writes one file that load_module reads"

_NO_OBJECTS = "nodes are Python classes of baton's own; no library of C++ objects stands behind them"

_RESULT_SIZE = "its result's size depends on the elements, which no kernel can write: call it in Relay or Relax"
_ARM = "it is one of TVM's kernels for ARM CPUs; baton chooses its own: call conv2d"

_NO_TREE = "schedules name blocks and loops: Schedule.get_producers and get_consumers tell what depends on what"
_OLD_LOWERING = "te computations become blocks (te.create_prim_func); nothing between them and kernels is kept"
_GPU_CALLS = (
    "tvm_thread_allreduce tvm_load_matrix_sync tvm_store_matrix_sync tvm_mma_sync tvm_bmma_sync tvm_fill_fragment "
    "ptx_mma ptx_mma_sp mma_store mma_fill ptx_ldmatrix ptx_cp_async ptx_cp_async_bulk ptx_commit_group "
    "ptx_wait_group ptx_cp_async_barrier ptx_init_barrier_thread_count ptx_arrive_barrier "
    "ptx_arrive_barrier_expect_tx ptx_wait_barrier create_barriers dp4a tvm_thread_invariant"
)

_GPU_TARGETS = "cuda rocm mali bifrost intel_graphics adreno hexagon vta"
_COLLECTIVE = "allreduce allgather broadcast_from_worker0"
_POOLS = "PoolInfo ConstantPoolInfo WorkspacePoolInfo PoolInfoProperties ConstantMemoryPools WorkspaceMemoryPools"
_REMOTE = (
    "RPCSession TrackerSession PopenSession Server MinRPCServer connect connect_tracker with_minrpc client server "
    "tracker proxy minrpc base testing server_ios_launcher"
)

REASONS: dict[str, str] = {
    "register_object": _NO_OBJECTS,
    "register_extension": _NO_OBJECTS,
    "_ffi.register_object": _NO_OBJECTS,
    "_ffi.init_api": _NO_OBJECTS,
    "_ffi.registry.register_object": _NO_OBJECTS,
    "runtime.register_object": _NO_OBJECTS,
    "runtime.ObjectGeneric": _NO_OBJECTS,
    "ir.EnvFunc": _NO_OBJECTS,
    "support.FrontendTestModule": "packed functions are registered with register_func",
    "runtime.profiling.MetricCollector": "profiles measure time; perf and likes measure the rest",
    "runtime.profiling.PAPIMetricCollector": "profiles measure time; perf and likes measure the rest",
    "runtime.profiling.profile_function": "time_evaluator measures, and the debug executor profiles",
    "runtime.system_lib": "libraries are files: export_library and load_module",
    "runtime.load_static_library": "libraries are files: export_library and load_module",
    "relay.backend.executor_factory.AOTExecutorFactoryModule": 'what is built for the executor "aot" is a '
    "GraphExecutorFactoryModule too",
    "relay.setrecursionlimit": "no program is too deep for baton's passes: Python's stack is not used for them",
    **{f"ir.{name}": "memory is planned in Relax, for whole programs" for name in ("memory_pools", *_POOLS.split())},
    "exec": "baton serves no devices; its command line is `baton`",
    **{f"rpc.{name}": "baton runs programs in its own process: rpc.LocalSession" for name in _REMOTE.split()},
    "contrib.rpc": "baton runs programs in the process that compiled or loaded them",
    "micro": "baton generates code for processes, not for bare devices",
    "contrib.micro": "baton generates code for processes, not for bare devices",
    "dlight": "its default schedules are for GPUs, and " + _GPU + "; CPU schedules are chosen by themselves",
    "contrib.cudnn": _GPU,
    "contrib.cublas": _GPU,
    "contrib.cutlass": _GPU,
    "contrib.nvcc": _GPU,
    "contrib.rocm": _GPU,
    "contrib.cuda_graph": _GPU,
    "contrib.ndk": _TOOLCHAIN,
    "contrib.xcode": _TOOLCHAIN,
    "contrib.emcc": _TOOLCHAIN,
    "contrib.hexagon": _GPU,
    "contrib.cblas": _BYOC,
    "contrib.mkl": _BYOC,
    "contrib.dnnl": _BYOC,
    "contrib.ethosu": _BYOC,
    "contrib.tflite_runtime": _IMPORTER,
    "contrib.coreml_runtime": _BYOC,
    "driver.tvmc.micro": "baton generates code for processes, not for bare devices",
    **{f"driver.tvmc.{name}": _BYOC for name in ("composite_target", "extensions")},
    "driver.tvmc.workspace_pools": "memory is planned in Relax, for whole programs",
    "driver.tvmc.tracker": "baton runs programs in the process that compiled or loaded them",
    "topi.cuda": _GPU,
    "topi.arm_cpu": _TUNING,
    **{f"topi.{target}": _GPU for target in ("gpu", "mali", "bifrost", "intel_graphics", "adreno", "rocm")},
    "topi.hexagon": _GPU,
    "topi.argwhere": _RESULT_SIZE,
    "topi.unique": _RESULT_SIZE,
    "topi.nonzero": _RESULT_SIZE,
    "topi.sparse_fill_empty_rows": _RESULT_SIZE,
    "relay.nn.contrib_conv2d_gemm_weight_transform": _ARM,
    "relay.nn.contrib_conv2d_gemm_without_weight_transform": _ARM,
    "relay.nn.contrib_conv2d_winograd_nnpack_weight_transform": _BYOC,
    "relay.nn.contrib_conv3d_winograd_weight_transform": "conv3d has no Winograd kernels here: call conv3d",
    "relay.nn.contrib_conv3d_winograd_without_weight_transform": "conv3d has no Winograd kernels here: call conv3d",
    "relay.frontend.tensorflow": _IMPORTER,
    "relay.frontend.tensorflow2": _IMPORTER,
    "relay.frontend.keras": _IMPORTER,
    "relay.frontend.tflite": _IMPORTER,
    "relay.frontend.mxnet": _IMPORTER,
    "relay.frontend.coreml": _IMPORTER,
    "relay.frontend.caffe": _IMPORTER,
    "relay.frontend.caffe2": _IMPORTER,
    "relay.frontend.darknet": _IMPORTER,
    "relay.frontend.paddlepaddle": _IMPORTER,
    "relay.frontend.oneflow": _IMPORTER,
    "relay.frontend.from_tensorflow": _IMPORTER,
    "relay.frontend.from_keras": _IMPORTER,
    "relay.frontend.from_tflite": _IMPORTER,
    "relay.frontend.from_mxnet": _IMPORTER,
    "relay.frontend.from_coreml": _IMPORTER,
    "relay.frontend.from_caffe": _IMPORTER,
    "relay.frontend.from_caffe2": _IMPORTER,
    "relay.frontend.from_darknet": _IMPORTER,
    "relay.frontend.from_paddle": _IMPORTER,
    "relay.frontend.from_oneflow": _IMPORTER,
    "relay.backend.contrib": _BYOC,
    "relay.transform.AnnotateMemoryScope": _MEMORY,
    "relay.collage": _BYOC,
    "relay.transform.CollagePartition": _BYOC,
    "relay.transform.RelayToTIRTargetHook": _BYOC,
    "relay.transform.MetaScheduleLayoutRewrite": _TUNING,
    "relay.transform.AutoSchedulerLayoutRewrite": _TUNING,
    "relay.transform.DenseToSparse": _SPARSE,
    "relay.transform.Conv2dToSparse": _SPARSE,
    "relay.transform.Conv2dToSparse2": _SPARSE,
    "relay.analysis.sparse_dense": _SPARSE,
    "relay.analysis.sparse_conv2d": _SPARSE,
    "relay.analysis.operations_distribution": _BYOC,
    "relay.data_dep_optimization.bsr_dense": _SPARSE,
    "relay.data_dep_optimization.bsr_conv2d": _SPARSE,
    "relay.data_dep_optimization.csr_conv2d": _SPARSE,
    "relay.transform.FlexibleShapeDispatch": "programs with `?` or named dims compile once for all sizes",
    "relay.backend.te_compiler": "Relay is lowered through Relax: relax.from_relay gives the program",
    "relax.testing.transform": "it looks into TVM's own passes",
    "relax.backend.contrib": _BYOC,
    "relax.backend.cuda": _BYOC,
    "relax.transform.SplitCallTIRByPattern": _BYOC,
    "relax.transform.AttachExternModules": "packed functions are registered with register_func; no code is linked in",
    "relax.transform.RewriteCUDAGraph": _GPU,
    "relax.transform.IPCAllReduceRewrite": _GPU,
    "relax.transform.LowerGPUIPCAllocStorage": _GPU,
    "relax.distributed": _ONE_PROCESS,
    "relax.op.ccl": _ONE_PROCESS,
    **{f"relax.frontend.nn.op.ccl_{name}": _ONE_PROCESS for name in _COLLECTIVE.split()},
    "relax.op.distributed": _ONE_PROCESS,
    "script.relax.ccl": _ONE_PROCESS,
    "script.relax.dist": _ONE_PROCESS,
    "relax.frontend.stablehlo": _IMPORTER,
    "tir.transform": "not implemented: tvm.build lowers kernels in one step; a script's own passes are "
    "tir.transform.prim_func_pass",
    "tir.analysis.verify_gpu_code": _GPU,
    "tir.analysis.get_vtcm_compaction_passes": _GPU,
    "tir.usmp": "memory is planned in Relax, for whole programs",
    **{f"tir.{name}": _GPU for name in _GPU_CALLS.split()},
    **{f"tir.{name}": _OLD_LOWERING for name in ("BufferRealize", "ProducerStore", "ProducerRealize", "Prefetch")},
    **{f"tir.stmt.{name}": _OLD_LOWERING for name in ("BufferRealize", "ProducerStore", "ProducerRealize", "Prefetch")},
    "tir.DataProducer": _OLD_LOWERING,
    "tir.buffer.DataProducer": _OLD_LOWERING,
    "arith.PresburgerSet": "it is MLIR's; arith.IntSet has intervals",
    "arith.int_set.PresburgerSet": "it is MLIR's; arith.IntSet has intervals",
    "tir.BlockScope": _NO_TREE,
    "tir.BlockDependenceInfo": _NO_TREE,
    "tir.block_scope": _NO_TREE,
    "tir.block_dependence_info": _NO_TREE,
    "tir.schedule.ScheduleDebugMask": _NO_TREE,
    "tir.schedule.Dependency": _NO_TREE,
    "tir.schedule.DepKind": _NO_TREE,
    "tir.schedule.analysis": _TUNING,
    **{f"target.{name}": _GPU for name in _GPU_TARGETS.split()},
    **{f"target.{name}": "baton generates code for processes, not for bare devices" for name in ("micro", "stm32")},
    **{
        f"te.hybrid.{name}": "kernels are read from Python by te.hybrid.script; schedules are built by tvm.build"
        for name in ("build", "parse", "parser", "module", "HybridModule", "source_to_op", "decorate")
    },
    "target.datatype": "baton's dtypes are those of NumPy and bfloat16",
    "_ffi.libinfo": _TOOLCHAIN,
    "runtime.disco": "baton runs programs in the process that compiled or loaded them",
}

_BUILDER = "functions are written in Python's syntax under @R.function or @T.prim_func, or with relax.BlockBuilder"
REASONS |= {f"script.{name}": _BUILDER for name in ("relax.arg", "relax.If", "relax.Then", "relax.Else")}

_UNUSED = "not implemented: nothing in baton stands behind it"
_OTHER = {
    "relay.expr.RelayExprWithFields": "nodes have with_fields, and Python's keyword arguments",
    "error.register_error": "errors are DiagnosticErrors with a code",
    "tir.schedule.BlockScope": _NO_TREE,
    **{f"te.schedule.{name}": _OLD_LOWERING for name in ("InferBound", "ScheduleOps")},
    "te.span_if_all_batch": _UNUSED,
    "target.generic": _TUNING,
    "ir.diagnostics": "errors are DiagnosticErrors: str(error) is the report",
    "ir.affine_type": "quantised values are integers with scales beside them: qnn operators",
    "ir.TensorAffineType": "quantised values are integers with scales beside them: qnn operators",
    "ir.TupleAffineType": "quantised values are integers with scales beside them: qnn operators",
    "ir.register_intrin_lowering": "intrinsics are those of tir; call_extern calls others",
    "ir.op.register_intrin_lowering": "intrinsics are those of tir; call_extern calls others",
    "runtime.object_generic": _NO_OBJECTS,
    "contrib.debugger.debug_result": "profile() and debug_get_output give what it wrote to files",
    "contrib.clang": _TOOLCHAIN,
    "contrib.pickle_memoize": "nothing is pickled",
    "contrib.random": "relay.random and relax's random operators",
    "contrib.sort": "argsort, sort and topk are operators",
    "contrib.peak": "bench measures the machine",
    "contrib.mps": _GPU,
    "contrib.cblas_extern": _BYOC,
}
REASONS |= _OTHER

_DEVICE_CODE = (
    "AnnotateDeviceRegions CombineContextCall DecorateDeviceScope DefaultGPUSchedule InferFragment InjectPTXAsyncCopy "
    "InjectPTXLDG32 InjectPermutedLayout LowerAsyncDMA LowerCrossThreadReduction "
    "LowerDeviceKernelLaunch LowerDeviceStorageAccessInfo LowerThreadAllreduce LowerVtcmAlloc LowerWarpMemory "
    "ManifestSharedMemoryLocalStage MergeSharedMemoryAllocations RemapThreadAxis SplitHostDevice ThreadSync "
    "TransformMmaBufferLayout UnifyThreadBinding LiftThreadBinding LowerAutoCopy CoProcSync TextureFlatten"
)
REASONS |= {f"tir.transform.{name}": _GPU for name in _DEVICE_CODE.split()}
_CODEGEN = "it prepares TVM's code generator; baton's takes kernels as lower_prim_func leaves them (tvm.build)"
_FOR_CODEGEN = (
    "MakePackedAPI MakeUnpackedAPI LowerTVMBuiltin LowerCustomDatatypes LegalizePackedCalls "
    "BF16StorageLegalize FP8StorageLegalize PointerValueTypeRewrite ExtractPrimFuncConstants InstallDebugSpans "
    "InstrumentBoundCheckers InstrumentProfileIntrinsics"
)
REASONS |= {f"tir.transform.{name}": _CODEGEN for name in _FOR_CODEGEN.split()}

_DEVICE_LIBRARIES = (
    "cublaslt cusparse cuda hipblas miopen rocblas thrust nnpack fbgemm libtorch spirv sdaccel stackvm cmsisnn "
    "ethosn msc mrvl vllm target tf_op mxnet torch"
)
REASONS |= {
    **{f"contrib.{name}": _BYOC for name in _DEVICE_LIBRARIES.split()},
    "contrib.binutil": _TOOLCHAIN,
    "contrib.tvmjs": "baton makes code for the processors of processes, not for browsers",
    "contrib.pipeline_executor": _ONE_PROCESS,
    "contrib.pipeline_executor_build": _ONE_PROCESS,
    "contrib.tedd": "print(schedule.mod.script()) shows schedules; contrib.relay_viz draws graphs",
}

_NETWORK = "it is TVM's own test equipment"
_QNN = "qnn operators are lowered by relay.qnn.transform; rules of your own are relay.op.register_legalize"
_QUANTIZE = "relay.quantize has quantize, qconfig and the passes; what lies between them is baton's own"
_LIBRARIES = (
    "adreno arm_compute_lib bnns clml cmsisnn coreml cublas cudnn cutlass dnnl ethosn ethosu libtorch mrvl te_target "
    "tensorrt vitis_ai"
)
_NO_LIBRARY = (
    "no such library comes with baton, which generates its own code; patterns and code generators of your own are "
    "relay.op.contrib.register_pattern_table and relay.ext.<name>"
)
REASONS |= {f"relay.op.contrib.{name}": _NO_LIBRARY for name in _LIBRARIES.split()}
REASONS |= {
    "libinfo": _TOOLCHAIN,
    "ir.supply": "names are made unique where they are printed; relax.BlockBuilder.get_unique_name makes them",
    "relay.transform.AnnotateUsedMemory": "not implemented: memory is planned in Relax, for whole programs",
    "relay.transform.infer_layout_utils": "layouts are told by rules: relay.op.register_convert_op_layout",
    "relay.transform.memory_plan": "memory is planned in Relax, for whole programs",
    "relay.backend.aot": 'what is built for the executor "aot" is a GraphExecutorFactoryModule too',
    "relay.op.layout_conversions": "rules of your own are relay.op.register_convert_op_layout",
    "relay.op.strategy.x86": _TUNING,
    "relay.op.strategy.cuda": _GPU,
    "relay.op.type_relations": "types are computed by rules of the operators' own, not by relations",
    **{f"relay.qnn.op.{name}": _QNN for name in ("legalizations", "canonicalizations", "layout_conversions")},
    "relay.qnn.strategy": _TUNING,
    **{f"relay.quantize.{name}": _QUANTIZE for name in ("_quantize", "_annotate", "_calibrate", "_partition")},
    "relay.quantize.kl_divergence": _QUANTIZE,
    "relay.frontend.qnn_torch": _IMPORTER,
    "relay.frontend.pytorch_utils": _IMPORTER,
    "relay.frontend.change_datatype": "relay.transform.recast and ToMixedPrecision change dtypes",
    **{
        f"target.codegen.{name}": "llvmlite, which LLVM comes from, does not tell"
        for name in ("llvm_get_targets", "llvm_get_cpu_archlist")
    },
    "target.codegen.llvm_get_system_x86_vendor": "llvm_get_system_cpu and llvm_get_cpu_features tell what CPU it is",
    "target.codegen.build_module": "tvm.build makes code of kernels",
    "runtime.ObjectPath": "tvm.ir.assert_structural_equal tells paths as texts",
    "runtime.object_path": "tvm.ir.assert_structural_equal tells paths as texts",
    **{
        f"runtime.profiling.{name}": "rows of profiles hold plain numbers: Report.calls, Report.device_metrics"
        for name in ("Duration", "Count", "Percent", "Ratio")
    },
    "target.x86": "LLVM is llvmlite's: llvmlite.binding tells its version and the host's features",
    "target.intrin": "intrinsics are those of tir; call_extern calls others",
    "target.compilation_config": "code is made for one CPU: tvm.target.Target",
    **{f"testing.{name}": _NETWORK for name in ("auto_scheduler", "popen_pool", "runner", "tir", "usmp")},
    "relay.transform.flexible_shape": "programs with `?` or named dims compile once for all sizes",
    "runtime.name_transforms": "there are no generated C functions to name",
    "testing.aot": "baton generates code for processes, not for bare devices",
    **{f"tir.tensor_intrin.{name}": _GPU for name in ("cuda", "rocm", "metal", "hexagon", "dot_product_common")},
    "tir.tensor_intrin.riscv_cpu": "intrinsics of your own are tir.TensorIntrin.register",
}
_READER = "scripts are read by tvm.script.from_source and the decorators; Python's own syntax trees are used inside"
REASONS |= {
    **{
        f"meta_schedule.{name}": _MEASURED
        for name in ("cost_model", "CostModel", "feature_extractor", "FeatureExtractor")
    },
    **{
        f"meta_schedule.{name}": _RULES for name in ("schedule_rule", "ScheduleRule", "postproc", "Postproc", "mutator")
    },
    "meta_schedule.Mutator": _RULES,
    "meta_schedule.schedule": _RULES,
    **{
        f"auto_scheduler.{name}": "candidates are run on this machine: auto_scheduler.LocalRunner"
        for name in ("RPCRunner", "LocalRPCMeasureContext")
    },
    **{
        f"auto_scheduler.{name}": "there is one way to search: TaskScheduler(tasks).tune, SearchTask.tune"
        for name in ("SketchPolicy", "EmptyPolicy", "PreloadMeasuredStates", "PreloadCustomSketchRule", "auto_schedule")
    },
    **{f"auto_scheduler.{name}": _MEASURED for name in ("XGBModel", "RandomModel", "cost_model", "feature")},
    "auto_scheduler.ComputeDAG": "tensors are scheduled as they are: te.create_prim_func gives their kernel",
    "auto_scheduler.HardwareParams": "targets know the machine: tvm.target.Target",
    "auto_scheduler.is_auto_scheduler_enabled": "records are in force within ApplyHistoryBest",
    "autotvm.RPCRunner": "configurations are run on this machine: autotvm.LocalRunner",
    "autotvm.measure.RPCRunner": "configurations are run on this machine: autotvm.LocalRunner",
    "autotvm.tophub": "kernels without records are scheduled by rules; there is no collection of records to fetch",
    "autotvm.feature": _MEASURED,
    "autotvm.env": "there are no settings to change",
    "autotvm.GLOBAL_SCOPE": "there are no settings to change",
    "autotvm.database": "measurements are kept in files: autotvm.callback.log_to_file",
    "autotvm.graph_tuner": "layouts are chosen by baton's own pipeline (ConvertLayout, BlockChannels)",
    "autotvm.apply_graph_best": "layouts are chosen by baton's own pipeline (ConvertLayout, BlockChannels)",
    "autotvm.ApplyGraphBest": "layouts are chosen by baton's own pipeline (ConvertLayout, BlockChannels)",
    "autotvm.register_topi_compute": "operators' kernels are baton's own; a kernel of yours is an autotvm.template",
    "autotvm.register_topi_schedule": "operators' kernels are baton's own; a kernel of yours is an autotvm.template",
    "meta_schedule.runner.RPCRunner": "candidates are run on this machine: runner.LocalRunner",
    "meta_schedule.runner.RPCConfig": "candidates are run on this machine: runner.LocalRunner",
    "meta_schedule.runner.PyRunner": "candidates are built and run by baton's own process: runner.LocalRunner",
    "meta_schedule.builder.PyBuilder": "candidates are built and run by baton's own process: builder.LocalBuilder",
    "meta_schedule.Profiler": "tuning tells its progress as compilation does",
    "meta_schedule.testing": "it is TVM's own test equipment",
    "meta_schedule.post_optimization": _MEASURED,
}
REASONS |= ASK_THE_PACKAGE | {
    "contrib.explicit_import": _TUNING,
    "ir.json_compact": "JSON of TVM v0.19 is read; older one is not",
    "ir.worker_pool": "memory is planned in Relax, for whole programs",
    "relax.backend_tir": _BYOC,
    "relax.transform.attach_external_modules": "packed functions are registered with register_func",
    "relax.transform.ipc_allreduce_rewrite": _GPU,
    "relax.transform.legalize_ops": "kernels of operators are baton's own; relax.transform.LegalizeOps takes others in "
    "customize_legalize_map",
    "relax.transform.tuning_api": _OLD_TUNING,
    "script.parser.core": _READER,
    **{f"script.parser.{name}.parser": _READER for name in ("ir", "relax", "tir")},
    "script.parser.tir.operation": _READER,
    "script.printer": "texts are printed by script() and show()",
    "runtime.Scriptable": "texts are printed by script() and show(), which take the options there are",
    "runtime.script_printer": "texts are printed by script() and show(), which take the options there are",
    "target.detect_target": "Target('llvm') is this machine",
    "tir.schedule.block_scope": _NO_TREE,
    "tir.schedule.transform": _TUNING,
    "utils": "bench measures the machine",
}
REASONS |= {
    f"relay.testing.{name}": _NETWORK for name in ("tf", "byoc", "darknet", "tflite", "yolo_detection", "config")
}


def reason(path: str) -> str | None:
    """Why `path` (below `tvm`) or what it lies in is not served; None if nothing is known about it."""
    parts = path.split(".")
    for size in range(len(parts), 0, -1):
        found = REASONS.get(".".join(parts[:size]))
        if found is not None:
            return found
    return None
