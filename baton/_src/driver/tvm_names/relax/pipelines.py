"""`relax.pipeline`: the named pipelines as the functions that TVM's scripts call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from baton._src.driver.targets import built_target
from baton._src.driver.tvm_names.tuning.meta_schedule.passes import MetaScheduleApplyDatabase, MetaScheduleTuneIRMod
from baton._src.ir.module import IRModule
from baton._src.passes.pipelines import get_pipeline
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.operators.decompose_ops import DecomposeOpsForInference
from baton._src.transform.context import PassContext
from baton._src.transform.decorators import module_pass
from baton._src.transform.passes import Pass, Sequential


def zero_pipeline(*, enable_warning: bool = False) -> Pass:
    """The pipeline `zero`: kernels of operators, fused."""
    return get_pipeline("zero")


def default_build_pipeline() -> Pass:
    """The pipeline `default_build`: everything that the VM's code is made from becomes visible."""
    return get_pipeline("default_build")


def static_shape_tuning_pipeline(
    total_trials: int, target: Any, work_dir: str | Path = "tuning_logs", cpu_weight_prepack: bool = False
) -> Pass:
    """The pipeline `static_shape_tuning`: kernels as `zero` makes them, tuned, the fastest schedules in their place.

    `cpu_weight_prepack` is accepted: baton's compilation lays constant weights out for the kernels that read them.
    """
    found = built_target(target)
    steps = Sequential(
        [
            DecomposeOpsForInference(),
            CanonicalizeBindings(),
            zero_pipeline(),
            MetaScheduleTuneIRMod({}, work_dir, total_trials),
            MetaScheduleApplyDatabase(work_dir),
        ]
    )

    def run(module: IRModule, context: PassContext) -> IRModule:
        with found:
            return steps(module)

    made: Pass = module_pass(run, opt_level=0, name="static_shape_tuning")
    return made
