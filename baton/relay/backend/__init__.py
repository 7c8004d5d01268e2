"""Executors and builders for Relay (`tvm.relay.backend`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.relay.build_options", "Executor Runtime"),
        **submodules("baton.relay.backend", "executor executor_factory graph_executor_codegen interpreter"),
        **submodules("baton.relay.backend", "name_transforms runtime te_compiler utils vm"),
        "compile_engine": "baton.relay.backend.te_compiler",  # its name before TVM v0.8
    },
    before=wire,
)
