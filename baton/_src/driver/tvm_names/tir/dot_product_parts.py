"""The parts of built-in dot products, for intrinsics of a script's own (`tir.tensor_intrin.x86`, `.arm_cpu`).

TensorIntrin.register("mine", dot_product_16x4_u8i8i32_desc, my_implementation)
"""

from __future__ import annotations

from baton._src.tir.schedule.transformations.dot_products import (
    DOT_PRODUCTS,
    ARM_DOT_4x4_i8_NEON_INTRIN,
    AVX512_DOT_16x4_INTRIN,
    VNNI_DOT_16x4_INTRIN,
)

dot_product_16x4_u8i8i32_desc = DOT_PRODUCTS[VNNI_DOT_16x4_INTRIN].description()
dot_product_16x4_u8i8i32_vnni = DOT_PRODUCTS[VNNI_DOT_16x4_INTRIN].implementation()
dot_product_16x4_u8i8i32_avx512 = DOT_PRODUCTS[AVX512_DOT_16x4_INTRIN].implementation()
neon_4x4_i8i8i32_desc = DOT_PRODUCTS[ARM_DOT_4x4_i8_NEON_INTRIN].description()
neon_4x4_i8i8i32_impl = DOT_PRODUCTS[ARM_DOT_4x4_i8_NEON_INTRIN].implementation()
