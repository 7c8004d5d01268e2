"""Descriptions of kernel arguments (`tvm.meta_schedule.arg_info`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.records", "TensorInfo"),
        **renamed("driver.tvm_names.tuning.meta_schedule.records", ArgInfo="TensorInfo"),
    },
    before=wire,
)
