"""Helpers for tests (`tvm.testing`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.testing",
            "assert_allclose main parameter parameters parametrize_targets requires_llvm requires_gpu",
        ),
        **submodules("baton.testing", "utils"),
        **names("driver.tvm_names.testing", "uses_gpu enabled_targets device_enabled"),
    },
    before=wire,
)
