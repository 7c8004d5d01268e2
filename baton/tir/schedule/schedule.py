"""`tvm.tir.schedule.schedule`."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.schedule.schedule", "Schedule"),
        **names("tir.schedule.handles", "BlockRV ExprRV LoopRV"),
        **names("support.diagnostics", "ScheduleError"),
    },
    before=wire,
)
