"""Kernels (`tvm.tir.function`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.prim_func", "PrimFunc"),
        **names("tir.schedule.transformations.tensorize", "TensorIntrin"),
        **names("tir.index_map", "IndexMap"),
    },
    before=wire,
)
