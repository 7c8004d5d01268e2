"""Spaces of schedules (`tvm.meta_schedule.space_generator`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.tuning.meta_schedule.spaces",
            "SpaceGenerator ScheduleFn PostOrderApply SpaceGeneratorUnion",
        ),
        **renamed(
            "driver.tvm_names.tuning.meta_schedule.spaces",
            PySpaceGenerator="SpaceGenerator",
            create="SpaceGenerator.create",
        ),
    },
    before=wire,
)
