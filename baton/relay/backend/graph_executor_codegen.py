"""Code generation for the graph executor (`tvm.relay.backend.graph_executor_codegen`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.backend", "GraphExecutorCodegen"),
    },
    before=wire,
)
