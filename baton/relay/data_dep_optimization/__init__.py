"""Optimizations that depend on the values of parameters (`tvm.relay.data_dep_optimization`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules("baton.relay.data_dep_optimization", "bsr_conv2d bsr_dense simplify_fc_transpose"),
    },
    before=wire,
)
