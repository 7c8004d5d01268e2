"""Scalar functions (`tvm.tir.op`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.operators", "div truncdiv truncmod floordiv floormod ceildiv min max power all any const"),
        **names(
            "tir.scalar_functions",
            "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh",
        ),
        **names("tir.scalar_functions", "acosh atanh erf sigmoid floor ceil trunc round nearbyint abs isnan isinf"),
        **names("tir.scalar_functions", "isfinite pow fmod atan2 if_then_else likely ret call_intrin call_extern"),
        **names("tir.scalar_functions", "max_value min_value infinity"),
    },
    before=wire,
)
