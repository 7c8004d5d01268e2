"""Tuning computations that have no schedule (`tvm.auto_scheduler`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.auto_scheduler.compute_dag", "ComputeDAG"),
        **names("driver.tvm_names.tuning.auto_scheduler.task", "SearchTask create_task"),
        **names("driver.tvm_names.tuning.auto_scheduler.workload_registry", "register_workload make_workload_key"),
        **renamed("driver.tvm_names.tuning.auto_scheduler.workload_registry", workload_key_to_tensors="made_workload"),
        **names("driver.tvm_names.tuning.auto_scheduler.scheduler", "TaskScheduler"),
        **names(
            "driver.tvm_names.tuning.auto_scheduler.callbacks",
            "LogEstimatedLatency PrintTableInfo TaskSchedulerCallback",
        ),
        **names(
            "driver.tvm_names.tuning.auto_scheduler.options",
            "TuningOptions LocalBuilder LocalRunner RPCRunner RecordToFile",
        ),
        **names("driver.tvm_names.tuning.auto_scheduler.options", "PythonBasedMeasureCallback"),
        **renamed("driver.tvm_names.tuning.auto_scheduler.options", MeasureCallback="PythonBasedMeasureCallback"),
        **names(
            "driver.tvm_names.tuning.auto_scheduler.policies",
            "HardwareParams LocalRPCMeasureContext PreloadMeasuredStates RandomModel SketchPolicy XGBModel",
        ),
        **names("driver.tvm_names.tuning.auto_scheduler.records", "MeasureInput MeasureResult"),
        **names("driver.tvm_names.tuning.auto_scheduler.records", "RecordReader load_records"),
        **names("driver.tvm_names.tuning.auto_scheduler.records", "load_best_record save_records"),
        **names("driver.tvm_names.tuning.auto_scheduler.programs", "extract_tasks ApplyHistoryBest"),
        **submodules("baton.auto_scheduler", "measure_record utils"),
    },
    before=wire,
)
