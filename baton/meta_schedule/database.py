"""Databases (`tvm.meta_schedule.database`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.databases", "Database"),
        **names(
            "driver.tvm_names.tuning.meta_schedule.databases",
            "MemoryDatabase JSONDatabase UnionDatabase OrderedUnionDatabase ScheduleFnDatabase",
        ),
        **names("driver.tvm_names.tuning.meta_schedule.records", "TuningRecord Workload"),
        **renamed("driver.tvm_names.tuning.meta_schedule.databases", PyDatabase="Database"),
        **renamed("driver.tvm_names.tuning.meta_schedule.databases", create="Database.create"),
    },
    before=wire,
)
