"""The names left out of the rest: targets, the runtime, `contrib`, scripts."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.driver.tvm_names.left_out.reasons import (
    BYOC,
    GPU,
    IMPORTER,
    ONE_PROCESS,
    PLANNED,
    REGISTERED,
    TEST_EQUIPMENT,
    TUNING,
)

OTHER_NAMES: Mapping[str, Mapping[str, str]] = {
    "nodes are Python classes of baton's own; no library of C++ objects stands behind them": {
        "": "register_object register_extension",
        "_ffi": "register_object init_api",
        "_ffi.registry": "register_object",
        "runtime": "register_object ObjectGeneric object_generic",
    },
    REGISTERED: {"support": "FrontendTestModule"},
    "profiles measure time; perf and similar tools measure the rest": {
        "runtime.profiling": "MetricCollector PAPIMetricCollector DeviceWrapper",
    },
    "time_evaluator measures, and the debug executor profiles": {"runtime.profiling": "profile_function"},
    "libraries are files: export_library and load_module": {"runtime": "system_lib load_static_library"},
    PLANNED: {
        "ir": (
            "memory_pools PoolInfo ConstantPoolInfo WorkspacePoolInfo PoolInfoProperties ConstantMemoryPools "
            "WorkspaceMemoryPools worker_pool"
        ),
        "": ("PoolInfo ConstantPoolInfo WorkspacePoolInfo PoolInfoProperties ConstantMemoryPools WorkspaceMemoryPools"),
        "driver.tvmc": "workspace_pools",
    },
    "servers listen where scripts reach them: rpc.Server, rpc.connect": {
        "rpc": "PopenSession MinRPCServer with_minrpc proxy minrpc server_ios_launcher",
        "exec": "rpc_proxy microtvm_debug_shell disco_worker",
    },
    TEST_EQUIPMENT: {
        "rpc": "testing",
        "testing": (
            "auto_scheduler popen_pool runner tir usmp check_bool_expr_is_true identity_cpp "
            "check_int_constraints_trans_consistency object_use_count terminate_self test_check_eq_callback "
            "test_raise_error_callback test_wrap_callback"
        ),
    },
    "baton runs programs in the process that compiled or loaded them": {
        "contrib": "rpc",
        "driver.tvmc": "tracker",
        "runtime": "disco",
    },
    "baton generates code for processes, not for bare devices": {
        "": "micro",
        "contrib": "micro",
        "driver.tvmc": "micro",
        "target": "micro stm32",
        "testing": "aot",
    },
    "a rule schedules with tir.Schedule; kernels that no rule takes get baton's own schedules": {
        "dlight": "adreno analysis benchmark",
    },
    GPU: {
        "contrib": "cudnn cublas cutlass nvcc rocm cuda_graph hexagon mps",
        "dlight.base": "auto_vectorize get_max_shared_memory_per_block get_max_threads_per_block max_threads_per_block "
        "suggest_threads_per_block",
        "target": "cuda rocm mali bifrost intel_graphics adreno hexagon vta",
    },
    "baton's libraries need no compiler or linker: export_library writes one file that load_module reads": {
        "contrib": "ndk xcode emcc binutil",
        "_ffi": "libinfo",
        "": "libinfo",
    },
    BYOC: {
        "contrib": (
            "dnnl ethosu coreml_runtime cblas_extern cublaslt cusparse cuda hipblas miopen rocblas thrust "
            "nnpack fbgemm libtorch spirv sdaccel stackvm cmsisnn ethosn msc mrvl vllm target tf_op mxnet"
        ),
        "driver.tvmc": "composite_target extensions",
    },
    'PyTorch runs on baton by torch.compile(model, backend="baton"); relay.frontend.from_pytorch imports models': {
        "contrib": "torch",
    },
    "TVM v0.19 has none either: ask tvmc (TVMCException), tvmc.shape_parser, tvmc.target and tvmc.transform": {
        "driver.tvmc": "common",
    },
    IMPORTER: {"contrib": "tflite_runtime"},
    ONE_PROCESS: {
        "script.relax": "ccl dist",
        "contrib": "pipeline_executor pipeline_executor_build",
    },
    "baton's dtypes are those of NumPy and bfloat16": {"target": "datatype"},
    "functions are written in Python's syntax under @R.function or @T.prim_func, or with relax.BlockBuilder": {
        "script.relax": "arg If Then Else",
    },
    TUNING: {
        "target": "generic",
        "contrib": "explicit_import",
    },
    "intrinsics are those of tir; call_extern calls others": {
        "target": "intrin",
    },
    "bench measures the machine": {
        "contrib": "peak",
        "": "utils",
    },
    "baton makes code for the processors of processes, not for browsers": {
        "contrib.tvmjs": "export_runtime create_tvmjs_wasm",
    },
    "print(schedule.mod.script()) shows schedules; contrib.relay_viz draws graphs": {"contrib": "tedd"},
    "llvmlite, which LLVM comes from, does not tell": {
        "target.codegen": "llvm_get_targets llvm_get_cpu_archlist",
    },
    "llvm_get_system_cpu and llvm_get_cpu_features tell what CPU it is": {
        "target.codegen": "llvm_get_system_x86_vendor",
    },
    "tvm.build makes code of kernels": {"target.codegen": "build_module"},
    "tvm.ir.assert_structural_equal tells paths as texts": {"runtime": "ObjectPath object_path"},
    "rows of profiles hold plain numbers: Report.calls, Report.device_metrics": {
        "runtime.profiling": "Duration Count Percent Ratio",
    },
    "LLVM is llvmlite's: llvmlite.binding tells its version and the host's features": {"target": "x86"},
    "code is made for one CPU: tvm.target.Target": {"target": "compilation_config"},
    "there are no generated C functions to name": {"runtime": "name_transforms"},
    "JSON of TVM v0.19 is read; older one is not": {"ir": "json_compact"},
    "scripts are read by tvm.script.from_source and the decorators; Python's own syntax trees are used inside": {
        "script.parser": "core",
        "script.parser.ir": "parser",
        "script.parser.relax": "parser",
        "script.parser.tir": "parser operation",
    },
    "texts are printed by script() and show()": {"script": "printer"},
    "texts are printed by script() and show(), which take the options there are": {
        "runtime": "Scriptable script_printer",
    },
    "Target('llvm') is this machine": {"target": "detect_target"},
}
"""Why: below what, which names."""
