"""Run models built for the ahead-of-time executor (`tvm.runtime.executor.aot_executor`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("runtime.graph.graph_executor", AotModule="GraphModule"),
    },
)
