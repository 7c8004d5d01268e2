"""Libraries (`tvm.runtime.module`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.artifacts", "Module load_module"),
        **names("driver.tvm_names.containers", "enabled"),
        **names("runtime.timing", "BenchmarkResult"),
        **names("runtime.module_face", "ModulePropertyMask"),
    },
)
