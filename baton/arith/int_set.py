"""Sets of integers (`tvm.arith.int_set`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.arith.int_set", "IntSet IntervalSet pos_inf neg_inf"),
        **names("tir.arith.region_bounds", "estimate_region_lower_bound estimate_region_strict_bound"),
        **names("tir.arith.region_bounds", "estimate_region_upper_bound"),
    },
    before=wire,
)
