"""Helpers for tests (`tvm.testing`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.testing",
            "assert_allclose main parameter parameters parametrize_targets requires_llvm enabled_targets device_enabled uses_gpu requires_gpu",
        ),
    },
    before=wire,
)
