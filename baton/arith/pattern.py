"""Forms of expressions (`tvm.arith.pattern`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.arith.systems.linear", "detect_linear_equation detect_clip_bound"),
        **names("tir.arith.common_subexpressions", "detect_common_subexpr"),
    },
    before=wire,
)
