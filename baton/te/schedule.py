"""Schedules of tensor expressions (`tvm.te.schedule`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("te.schedule", "create_schedule Schedule"),
        **names("te.stage", "Stage"),
    },
    before=wire,
)
