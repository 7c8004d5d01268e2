"""What a debug executor saw of a run (`tvm.contrib.debugger.debug_result`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("runtime.graph.debug_result", "DebugResult"),
    },
)
