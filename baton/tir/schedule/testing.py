"""Helpers for testing schedules (`tvm.tir.schedule.testing`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.tir.schedule_testing",
            "assert_structural_equal_ignore_global_symbol verify_trace_roundtrip",
        ),
    },
    before=wire,
)
