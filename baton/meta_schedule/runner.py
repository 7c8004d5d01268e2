"""Runners of candidates (`tvm.meta_schedule.runner`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.tuning.meta_schedule.running",
            "Runner RunnerInput RunnerFuture LocalRunner RPCRunner RPCConfig EvaluatorConfig",
        ),
        **names("driver.tvm_names.tuning.meta_schedule.records", "RunnerResult"),
        **renamed(
            "driver.tvm_names.tuning.meta_schedule.running",
            PyRunner="Runner",
            PyRunnerFuture="RunnerFuture",
            create="Runner.create",
        ),
    },
    before=wire,
)
