"""Modules of TVM v0.19 that baton does not have separately: their names are served by the enclosing package.

`from tvm.relay.op.nn.nn import conv2d` finds `relay.op.nn.conv2d`, and so does `relay.op.nn.nn.conv2d`. A module that
has the name of a function of the package can be imported, too; as an attribute, the name is the function's, as in TVM.
"""

from __future__ import annotations

_SPLIT = {
    "auto_scheduler": "compute_dag measure relay_integration search_task task_scheduler workload_registry",
    "autotvm.measure": "measure measure_methods",
    "autotvm.task": "dispatcher relay_integration space task",
    "autotvm.tuner": "droplet_tuner ga_tuner index_based_tuner tuner xgboost_tuner",
    "dlight.base": "analysis common_schedules schedule_rule transform utils",
    "dlight.cpu": "gemv",
    "dlight.gpu": "fallback gemv general_reduction low_batch_gemv matmul reduction rmsnorm transpose",
    "ir": "affine_type",
    "meta_schedule": "profiler",
    "meta_schedule.builder": "builder local_builder",
    "meta_schedule.database": "database json_database memory_database",
    "meta_schedule.runner": "config local_runner runner",
    "meta_schedule.search_strategy": "evolutionary_search replay_func replay_trace search_strategy",
    "meta_schedule.space_generator": "post_order_apply schedule_fn space_generator",
    "relay.op.annotation": "annotation",
    "relay.op.image": "image",
    "relay.op.memory": "memory",
    "relay.op.nn": "nn utils",
    "relay.op.random": "kernel",
    "relay.op.vision": "multibox nms rcnn yolo",
    "relay.op.vm": "vm",
    "relay.qnn.op": "qnn",
    "relay.transform": "fake_quantization_to_integer",
    "relax.analysis": "analysis",
    "relax.backend": "dispatch_sampling dispatch_sort_scan",
    "relax.backend.cpu_generic": "pipeline",
    "relax.frontend": "common",
    "relax.frontend.nn": "exporter torch visitor",
    "relax.frontend.onnx": "onnx_frontend",
    "relax.frontend.stablehlo": "stablehlo_translator",
    "relax.frontend.torch": "dynamo exported_program_translator fx_translator",
    "relax.op": "base binary create datatype index linear_algebra manipulate mask qdq sampling search set sorting "
    "statistical ternary unary",
    "relax.op.builtin": "builtin",
    "relax.op.grad": "grad",
    "relax.op.image": "image",
    "relax.op.memory": "memory",
    "relax.op.nn": "nn",
    "relax.op.vm": "vm",
    "relax.transform": "transform attach_external_modules fast_math fuse_transpose_matmul ipc_allreduce_rewrite "
    "lazy_transform_params legalize_ops optimize_layout_transform remove_redundant_reshape",
    "rpc": "base client server tracker",
    "script.ir_builder.ir": "ir",
    "script.ir_builder.relax": "ir",
    "script.ir_builder.tir": "ir",
    "script.parser.ir": "entry",
    "script.parser.relax": "entry",
    "script.parser.tir": "entry",
    "target": "target virtual_device",
    "tir.analysis": "analysis",
    "tir.schedule": "block_scope",
    "tir.transform": "function_pass transform",
    "topi.generic": "conv2d default extern image injective math nn search sort vision",
    "topi.image": "resize",
    "topi.random": "kernel",
    "topi.vision": "nms",
    "topi.vision.rcnn": "roi_align roi_pool",
    "topi.x86": "batch_matmul concat conv1d conv2d conv3d dense depthwise_conv2d injective nn pooling reduction sparse "
    "tensor_intrin utils",
    "topi.vision.ssd": "multibox",
    "topi": "broadcast math reduction scan scatter signal tensor transform",
    "topi.nn": "bnn depthwise_conv2d elemwise local_response_norm loss mapping pooling qnn sparse utils winograd_util",
}
SERVED_BY = {f"{package}.{module}": package for package, modules in _SPLIT.items() for module in modules.split()}
SERVED_BY["relax.transform.legalize_ops.common"] = "relax.transform"
SERVED_BY["autotvm.tuner.callback"] = "autotvm.callback"
SERVED_BY["relay.backend.compile_engine"] = "relay.backend.te_compiler"
SERVED_BY["contrib.debugger.debug_runtime"] = "contrib.debugger.debug_executor"
"""The package of baton (or, for an old name, the module) that serves a module, both by their paths below `tvm`."""

_FUNCTIONS = {
    "relax.analysis": "estimate_memory_usage",
    "relax.frontend.nn": "extern",
    "relax.op.memory": "view",
    "relay": "debug",
    "relay.analysis": "count_layers",
    "relay.quantize": "quantize",
    "relay.transform": "recast",
    "target": "generic_func",
    "topi": "einsum index_put scatter_elements searchsorted sort",
    "topi.image": "dilation2d grid_sample",
    "topi.nn": (
        "batch_matmul batch_norm batch_to_space_nd bitserial_conv2d bitserial_dense conv1d conv1d_transpose conv2d "
        "conv2d_transpose conv3d conv3d_transpose correlation deformable_conv2d dense depth_to_space dilate "
        "fifo_buffer flatten group_norm instance_norm layer_norm lstm pad pixel_shuffle rms_norm softmax "
        "space_to_batch_nd space_to_depth upsampling"
    ),
    "topi.vision": "reorg",
}
NAMED_LIKE_A_FUNCTION = {package: tuple(modules.split()) for package, modules in _FUNCTIONS.items()}
"""By package the modules that have the name of one of its functions."""


def serving(path: str) -> str | None:
    """The module of baton that serves TVM's module `path` (below the root) though it has none of that name."""
    package = SERVED_BY.get(path)
    return None if package is None else f"baton.{package}"
