"""Postprocessors of candidates (`tvm.meta_schedule.postproc`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tuning.meta_schedule.kernel_parts", "Postproc"),
        **renamed("driver.tvm_names.tuning.meta_schedule.kernel_parts", PyPostproc="Postproc"),
        **names(
            "driver.tvm_names.tuning.meta_schedule.cpu_postprocs",
            "DisallowDynamicLoop RewriteParallelVectorizeUnroll RewriteReductionBlock",
        ),
        **renamed("driver.tvm_names.tuning.meta_schedule.default_parts", create="postprocs"),
    },
    before=wire,
)
