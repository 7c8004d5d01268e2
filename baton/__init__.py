"""baton: Relay and Relax, compiled to native code by LLVM, from `pip install` alone.

The names are those of Apache TVM v0.19; each is loaded on first use.
"""

from __future__ import annotations

from baton._src.support.lazy import attach, names, renamed, submodules

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.compile.compile", "compile"),
        **names("driver.model.load", "load"),
        **names("driver.tuning.tune", "tune"),
        **names("driver.model.model", "Model"),
        **names("ir.module", "IRModule"),
        **names("values.tensor", "NDArray"),
        **names("values.dtype", "DataType DataTypeCode"),
        **names("values.device", "Device"),
        **names("driver.tvm_names.devices", "cpu device cuda opencl vulkan metal rocm vpi ext_dev webgpu hexagon"),
        **renamed("driver.tvm_names.devices", gpu="cuda", cl="opencl", mtl="metal"),
        **names("driver.tvm_names.registry", "register_func get_global_func convert"),
        **names("support.diagnostics", "BatonError DiagnosticError InternalError"),
        **renamed("support.diagnostics", TVMError="BatonError"),
        **names("ir.target", "Target"),
        **names("driver.tvm_names.objects", "Object"),
        **names("driver.tir.build", "build lower"),
        **names("tir.operators", "const"),
        **submodules(
            "baton",
            "alias arith auto_scheduler autotvm contrib dlight driver error frontend ir meta_schedule nd parser relax relay rpc runtime script",
        ),
        **submodules("baton", "_ffi support target te testing tir topi transform"),
        "container": "baton.ir.container",
        "instrument": "baton.ir.instrument",
    },
)
