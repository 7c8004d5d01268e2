"""The runtime of compiled programs (`tvm.runtime`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("values.tensor", "NDArray"),
        **names("values.device", "Device"),
        **names("values.dtype", "DataType DataTypeCode"),
        **names("values.packed_func", "PackedFunc"),
        **names("values.shape", "ShapeTuple"),
        **names("driver.tvm_names.containers", "String enabled"),
        **names("driver.artifacts", "Module"),
        **names("driver.tvm_names.registry", "convert"),
        **renamed("driver.tvm_names.registry", convert_to_object="convert"),
        **names("driver.tvm_names.devices", "cpu device cuda opencl vulkan metal rocm vpi ext_dev webgpu hexagon"),
        **renamed("driver.tvm_names.devices", gpu="cuda", cl="opencl", mtl="metal"),
        **names(
            "runtime.param_dict",
            "load_param_dict load_param_dict_from_file save_param_dict save_param_dict_to_file",
        ),
        **names("driver.artifacts", "load_module"),
        **names("driver.tvm_names.objects", "Object"),
        **names("runtime.timing", "BenchmarkResult"),
        **renamed("runtime.timing", Report="Profile"),
        **names("tir.operators", "const"),
        **renamed("runtime.thread_pool.threads", num_threads="default_num_threads"),
        **submodules(
            "baton.runtime",
            "executor container module ndarray object packed_func params profiler_vm profiling relax_vm vm",
        ),
    },
)
