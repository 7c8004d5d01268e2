"""Tuning templates with knobs (`tvm.autotvm`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.autotvm.task", "template get_config create args_to_workload"),
        **names("driver.tvm_names.tuning.autotvm.measure", "measure_option MeasureInput MeasureResult MeasureErrorNo"),
        **names("driver.tvm_names.tuning.autotvm.measure", "LocalBuilder LocalRunner RPCRunner create_measure_batch"),
        **names("driver.tvm_names.tuning.autotvm.config", "ConfigSpace ConfigEntity"),
        **names(
            "driver.tvm_names.tuning.autotvm.entities", "SplitEntity ReorderEntity AnnotateEntity OtherOptionEntity"
        ),
        **names("driver.tvm_names.tuning.autotvm.dispatch", "DispatchContext ApplyConfig FallbackContext"),
        **names("driver.tvm_names.tuning.autotvm.history", "ApplyHistoryBest apply_history_best"),
        **renamed(
            "driver.tvm_names.tuning.autotvm.history",
            ApplyGraphBest="ApplyHistoryBest",
            apply_graph_best="apply_history_best",
        ),
        **renamed("driver.tvm_names.tuning.autotvm.fallback", FallbackConfigEntity="FallbackConfig"),
        **submodules("baton.autotvm", "callback graph_tuner measure record task tuner"),
    },
    before=wire,
)
