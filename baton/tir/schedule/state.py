"""The state of a schedule: its program and references into it (`tvm.tir.schedule.state`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.schedule.srefs", "StmtSRef"),
        **names("tir.schedule.state", "ScheduleDebugMask ScheduleState"),
    },
    before=wire,
)
