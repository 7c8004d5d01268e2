"""Task schedulers: which task is measured next (`tvm.meta_schedule.task_scheduler`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.tune", "TaskScheduler TaskRecord RoundRobin GradientBased"),
        **renamed("driver.tvm_names.tuning.meta_schedule.tune", create="TaskScheduler.create"),
    },
    before=wire,
)
