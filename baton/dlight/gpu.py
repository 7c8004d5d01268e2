"""TVM's rules for GPUs, which decline for CPUs (`tvm.dlight.gpu`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    names(
        "driver.tvm_names.dlight.rules",
        "GPUScheduleRule GEMV LowBatchGEMV Matmul Reduction GeneralReduction RMSNorm Transpose Fallback",
    ),
    before=wire,
)
