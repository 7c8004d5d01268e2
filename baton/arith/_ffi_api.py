"""Functions that TVM has under the names of its library (`tvm.arith._ffi_api`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    renamed(
        "driver.tvm_names.tir.touched",
        DomainTouched="domain_touched",
        DomainTouchedAccessMap="domain_touched_access_map",
    ),
    before=wire,
)
