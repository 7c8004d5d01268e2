"""Run a compiled graph step by step (`tvm.contrib.debugger`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules("baton.contrib.debugger", "debug_executor debug_result"),
    },
)
