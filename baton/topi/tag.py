"""Tags of computations (`tvm.topi.tag`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.topi.tags", "ELEMWISE BROADCAST INJECTIVE COMM_REDUCE COMM_REDUCE_IDX"),
        **names("driver.tvm_names.topi.tags", "is_broadcast is_injective"),
    },
    before=wire,
)
