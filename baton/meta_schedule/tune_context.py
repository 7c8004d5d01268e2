"""The tuning context of one task (`tvm.meta_schedule.tune_context`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.task", "TuneContext"),
    },
    before=wire,
)
