"""Tuning models (`tvm.driver.tvmc.autotuner`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tvmc.tuner", "tune_model"),
        **names("driver.tvm_names.tvmc.tuning_tasks", "autotvm_get_tuning_tasks autoscheduler_get_tuning_tasks"),
        **names("driver.tvm_names.tvmc.tuning_tasks", "tune_tasks schedule_tasks filter_tasks gen_task_list"),
    },
    before=wire,
)
