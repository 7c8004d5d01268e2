"""Default schedules by rules (`tvm.dlight`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.dlight.rules", "ApplyDefaultSchedule ScheduleRule"),
        **names(
            "driver.tvm_names.dlight.blocks",
            "BlockInfo IterInfo normalize_prim_func try_inline try_inline_contiguous_spatial",
        ),
        **submodules("baton.dlight", "base cpu gpu"),
    },
    before=wire,
)
