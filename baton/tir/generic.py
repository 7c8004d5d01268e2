"""Generic arithmetic over expressions and tensors (`tvm.tir.generic`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tir.scalar_words", "add subtract multiply divide"),
        **names("driver.tvm_names.tir.generic", "cast floordiv"),
    },
    before=wire,
)
