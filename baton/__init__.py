"""baton: Relay and Relax, compiled to native code by LLVM, from `pip install` alone.

The names are those of Apache TVM v0.19; each is loaded on first use.
"""

from __future__ import annotations

from baton._src.support.lazy import attach, names, renamed, submodules

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.compile", "compile load"),
        **renamed("driver.model", Model="Model"),
        **names("ir.module", "IRModule"),
        **names("values.tensor", "NDArray"),
        **renamed("values.dtype", DataType="DataType"),
        **names("values.device", "Device"),
        **names("runtime.devices", "cpu device"),
        **names("runtime.registry", "register_func get_global_func"),
        **renamed("support.diagnostics", TVMError="BatonError", BatonError="BatonError", DiagnosticError="DiagnosticError"),
        **names("ir.target", "Target") ,
        **submodules(
            "baton", "alias arith contrib driver error ir nd relax relay runtime script target te testing tir topi transform"
        ),
        "build": "baton._src.driver.build:build",
        "lower": "baton._src.driver.build:lower",
    },
)
