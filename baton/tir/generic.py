"""Generic arithmetic over expressions and tensors (`tvm.tir.generic`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.operators", "add subtract multiply divide floordiv"),
        **names("driver.tvm_names.tir.generic", "cast"),
    },
    before=wire,
)
