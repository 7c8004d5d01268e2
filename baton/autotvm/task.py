"""Tasks of tuning (`tvm.autotvm.task`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.autotvm.task", "Task create get_config template args_to_workload"),
        **names("driver.tvm_names.tuning.autotvm.extract", "extract_from_program extract_from_multiple_program"),
        **names("driver.tvm_names.tuning.autotvm.config", "ConfigSpace ConfigEntity"),
        **names("driver.tvm_names.tuning.autotvm.knob_values", "VirtualAxis get_factors get_pow2s"),
        **names(
            "driver.tvm_names.tuning.autotvm.entities", "SplitEntity ReorderEntity AnnotateEntity OtherOptionEntity"
        ),
        **names(
            "driver.tvm_names.tuning.autotvm.dispatch",
            "DispatchContext ApplyConfig FallbackContext clear_fallback_cache",
        ),
        **renamed("driver.tvm_names.tuning.serialized", serialize_args="serialized", deserialize_args="deserialized"),
        **names("driver.tvm_names.tuning.autotvm.history", "ApplyHistoryBest apply_history_best"),
        **renamed("driver.tvm_names.tuning.autotvm.history", ApplyGraphBest="ApplyHistoryBest"),
        **renamed("driver.tvm_names.tuning.autotvm.fallback", FallbackConfigEntity="FallbackConfig"),
    },
    before=wire,
)
