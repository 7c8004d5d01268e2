"""Rules that schedule blocks (`tvm.meta_schedule.schedule_rule`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.kernel_parts", "ScheduleRule"),
        **renamed("driver.tvm_names.tuning.meta_schedule.kernel_parts", PyScheduleRule="ScheduleRule"),
        **names(
            "driver.tvm_names.tuning.meta_schedule.schedule_rules",
            "AddRFactor AutoInline InlineConstantScalars MultiLevelTiling ParallelizeVectorizeUnroll "
            "RandomComputeLocation ReuseType",
        ),
        **renamed("driver.tvm_names.tuning.meta_schedule.default_parts", create="rules"),
    },
    before=wire,
)
