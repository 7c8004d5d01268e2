"""Dot products of bytes on ARM (`tvm.tir.tensor_intrin.arm_cpu`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.schedule.transformations.dot_products", "ARM_DOT_4x4_i8_NEON_INTRIN ARM_DOT_4x4_i8_SDOT_INTRIN"),
        **names("tir.schedule.transformations.dot_products", "ARM_DOT_4x4_u8_UDOT_INTRIN ARM_DOT_4x4_u8_HDOT_INTRIN"),
        **names("driver.tvm_names.tir.dot_product_parts", "neon_4x4_i8i8i32_desc neon_4x4_i8i8i32_impl"),
    },
    before=wire,
)
