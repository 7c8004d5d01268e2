"""The default pipeline for CPUs, and its parts (`tvm.relax.backend.cpu_generic`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relax.cpu_pipeline", "get_default_pipeline library_dispatch_passes legalize_passes"),
        **names("driver.tvm_names.relax.cpu_pipeline", "dataflow_lower_passes finalize_passes"),
    },
    before=wire,
)
