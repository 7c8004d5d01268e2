"""Pipelines (`tvm.relax.pipeline`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.pipelines", "get_pipeline register_pipeline"),
        **renamed("passes.pipelines", PIPELINE_MAP="PIPELINES"),
        **names(
            "driver.tvm_names.relax.pipelines",
            "zero_pipeline default_build_pipeline static_shape_tuning_pipeline",
        ),
        **names("driver.tvm_names.relax.cpu_pipeline", "get_default_pipeline library_dispatch_passes legalize_passes"),
        **names("driver.tvm_names.relax.cpu_pipeline", "dataflow_lower_passes finalize_passes"),
    },
    before=wire,
)
