"""Logs of measurements (`tvm.auto_scheduler.measure_record`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.auto_scheduler.options", "RecordToFile"),
        **names("driver.tvm_names.tuning.auto_scheduler.records", "RecordReader load_records"),
        **names("driver.tvm_names.tuning.auto_scheduler.records", "load_best_record save_records"),
        **names("driver.tvm_names.tuning.auto_scheduler.records", "dump_record_to_string load_record_from_string"),
    },
    before=wire,
)
