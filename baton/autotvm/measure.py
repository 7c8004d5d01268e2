"""Measuring configurations (`tvm.autotvm.measure`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.autotvm.measure", "MeasureInput MeasureResult MeasureErrorNo measure_option"),
        **names("driver.tvm_names.tuning.autotvm.measure", "LocalBuilder LocalRunner RPCRunner create_measure_batch"),
        **names("driver.tvm_names.remote.session", "request_remote"),
    },
    before=wire,
)
