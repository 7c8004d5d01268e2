"""Dot products of bytes on x86 (`tvm.tir.tensor_intrin.x86`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.schedule.transformations.dot_products", "VNNI_DOT_16x4_INTRIN AVX512_DOT_16x4_INTRIN"),
        **names("driver.tvm_names.tir.dot_product_parts", "dot_product_16x4_u8i8i32_desc"),
        **names(
            "driver.tvm_names.tir.dot_product_parts", "dot_product_16x4_u8i8i32_vnni dot_product_16x4_u8i8i32_avx512"
        ),
    },
    before=wire,
)
