"""Run a compiled graph (`tvm.contrib.graph_executor`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("runtime.graph.graph_executor", "GraphModule create get_device"),
    },
)
