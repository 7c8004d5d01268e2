"""What runs compiled programs (`tvm.runtime`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("values.tensor", "NDArray"),
        **names("values.device", "Device"),
        **names("values.dtype", "DataType"),
        **names("values.packed_func", "PackedFunc"),
        **names("values.shape", "ShapeTuple"),
        **names("driver.tvm_names.containers", "String enabled"),
        **names("driver.artifacts", "Module"),
        **names("driver.tvm_names.registry", "convert"),
        **names("driver.tvm_names.devices", "cpu device"),
        **names("driver.tvm_names.arrays", "load_param_dict save_param_dict"),
        **names("driver.artifacts", "load_module"),
        **names("driver.tvm_names.objects", "Object"),
        **names("runtime.timing", "BenchmarkResult"),
        **names("tir.operators", "const"),
        **submodules(
            "baton.runtime",
            "executor container module ndarray object packed_func params profiler_vm profiling relax_vm vm",
        ),
    },
)
