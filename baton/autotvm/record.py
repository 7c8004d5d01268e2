"""Logs of measurements (`tvm.autotvm.record`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.autotvm.records", "encode decode load_from_file pick_best"),
        **names("driver.tvm_names.tuning.autotvm.records", "load_from_buffer measure_str_key split_workload"),
    },
    before=wire,
)
