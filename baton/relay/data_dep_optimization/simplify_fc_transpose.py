"""Weights stored transposed (`tvm.relay.data_dep_optimization.simplify_fc_transpose`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relay.operators.simplify_fc_transpose", "convert"),
    },
    before=wire,
)
