"""Buffers (`tvm.tir.buffer`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.buffer", "Buffer decl_buffer"),
        **names("driver.tvm_names.tir.absent_kinds", "DataProducer"),
    },
    before=wire,
)
