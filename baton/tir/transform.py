"""Passes over TIR (`tvm.tir.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("transform.decorators", prim_func_pass="prim_func_pass"),
    },
    before=wire,
)
