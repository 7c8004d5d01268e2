"""The tuning context of one task (`tvm.meta_schedule.tune_context`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.task", "TuneContext"),
        **renamed("driver.tvm_names.tuning.workloads", _normalize_mod="normalized"),
    },
    before=wire,
)
