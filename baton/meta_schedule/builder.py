"""Builders of candidates (`tvm.meta_schedule.builder`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.building", "Builder BuilderInput BuilderResult LocalBuilder"),
        **renamed("driver.tvm_names.tuning.meta_schedule.building", PyBuilder="Builder", create="Builder.create"),
    },
    before=wire,
)
