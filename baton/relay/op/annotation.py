"""Annotation operators (`tvm.relay.op.annotation`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.words", "on_device function_on_device stop_fusion checkpoint"),
        **names("driver.tvm_names.relay.words", "compiler_begin compiler_end"),
    },
    before=wire,
)
