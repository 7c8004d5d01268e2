"""Tuning by search over schedules (`tvm.meta_schedule`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.tir_integration", "tune_tir"),
        **names("driver.tvm_names.tuning.meta_schedule.relax_integration", "tune_relax compile_relax"),
        **names(
            "driver.tvm_names.tuning.meta_schedule.relay_integration",
            "tune_relay compile_relay is_meta_schedule_enabled",
        ),
        **names("driver.tvm_names.tuning.meta_schedule.tune", "TaskScheduler"),
        **names("driver.tvm_names.tuning.meta_schedule.databases", "Database MemoryDatabase JSONDatabase"),
        **names("driver.tvm_names.tuning.meta_schedule.records", "TuningRecord MeasureCandidate"),
        **names("driver.tvm_names.tuning.meta_schedule.building", "Builder"),
        **names("driver.tvm_names.tuning.meta_schedule.running", "Runner EvaluatorConfig"),
        **names("driver.tvm_names.tuning.meta_schedule.cost_models", "CostModel"),
        **names("driver.tvm_names.tuning.meta_schedule.feature_extractors", "FeatureExtractor"),
        **names("driver.tvm_names.tuning.meta_schedule.kernel_parts", "ScheduleRule Postproc Mutator"),
        **names("driver.tvm_names.tuning.meta_schedule.spaces", "SpaceGenerator"),
        **names("driver.tvm_names.tuning.meta_schedule.strategies", "SearchStrategy"),
        **names("driver.tvm_names.tuning.meta_schedule.callbacks", "MeasureCallback"),
        **names("driver.tvm_names.tuning.meta_schedule.extracted", "ExtractedTask"),
        **names("driver.tvm_names.tuning.meta_schedule.profiler", "Profiler"),
        **names("driver.tvm_names.tuning.meta_schedule.task", "TuneContext"),
        **names("driver.tvm_names.tuning.meta_schedule.derived", "derived_object"),
        **renamed("driver.tvm_names.tuning.meta_schedule.records", ArgInfo="TensorInfo"),
        **names("driver.tvm_names.tuning.meta_schedule.tune", "tune_tasks"),
        **submodules(
            "baton.meta_schedule",
            "arg_info builder cost_model database extracted_task feature_extractor measure_callback mutator postproc "
            "relax_integration relay_integration runner schedule_rule search_strategy space_generator task_scheduler "
            "tir_integration tune tune_context utils",
        ),
    },
    before=wire,
)
