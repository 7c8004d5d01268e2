"""Passes over TIR (`tvm.tir.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.user_passes", "prim_func_pass"),
    },
    before=wire,
)
