"""Helpers for writing operator strategies (`tvm.relay.op.strategy`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.strategies", "naive_schedule wrap_topi_compute wrap_topi_schedule"),
        **submodules("baton.relay.op.strategy", "generic"),
    },
    before=wire,
)
