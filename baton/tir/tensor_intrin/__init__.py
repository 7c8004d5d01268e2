"""Names of the built-in tensor intrinsics (`tvm.tir.tensor_intrin`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.schedule.transformations.dot_products", "VNNI_DOT_16x4_INTRIN AVX512_DOT_16x4_INTRIN"),
        **names("tir.schedule.transformations.dot_products", "ARM_DOT_4x4_i8_NEON_INTRIN ARM_DOT_4x4_i8_SDOT_INTRIN"),
        **names("tir.schedule.transformations.dot_products", "ARM_DOT_4x4_u8_UDOT_INTRIN ARM_DOT_4x4_u8_HDOT_INTRIN"),
        **submodules("baton.tir.tensor_intrin", "arm_cpu x86"),
    },
    before=wire,
)
