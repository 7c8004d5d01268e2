"""Sparse kernels of convolutions (`tvm.relay.data_dep_optimization.bsr_conv2d`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("passes.relay.operators.sparse_weights", convert="convert_conv2d"),
    },
    before=wire,
)
