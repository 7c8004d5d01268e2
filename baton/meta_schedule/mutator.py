"""Mutators of candidates (`tvm.meta_schedule.mutator`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.kernel_parts", "Mutator"),
        **renamed("driver.tvm_names.tuning.meta_schedule.kernel_parts", PyMutator="Mutator"),
        **names(
            "driver.tvm_names.tuning.meta_schedule.cpu_mutators",
            "MutateComputeLocation MutateParallel MutateTileSize MutateUnroll",
        ),
        **renamed("driver.tvm_names.tuning.meta_schedule.default_parts", create="mutators"),
    },
    before=wire,
)
