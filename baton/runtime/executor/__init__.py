"""Executors of compiled programs (`tvm.runtime.executor`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("runtime.graph.graph_executor", AotModule="GraphModule"),
        **submodules("baton.runtime.executor", "aot_executor"),
    },
)
