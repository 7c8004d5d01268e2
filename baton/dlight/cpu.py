"""TVM's rules for CPUs (`tvm.dlight.cpu`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.dlight.rules", "CPUScheduleRule"),
        **renamed("driver.tvm_names.dlight.rules", GEMV="CPUGEMV"),
    },
    before=wire,
)
