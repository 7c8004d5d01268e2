"""Operators and their builders (`tvm.relay.op`)."""

from __future__ import annotations

from baton._src.driver.tvm_names.builders import relay_builders
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.operators", "get"),
        **names("ir.expr", "Op"),
        **renamed("ir.op_def", OpPattern="Fusion"),
        **submodules("baton.relay.op", "image nn tensor transform reduce vision"),
    },
    before=wire,
    more=relay_builders,
)
