"""Patterns shared by external compilers (`tvm.relax.backend.patterns`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relax.fusion.backend_patterns", "make_fused_bias_activation_pattern make_conv2d_pattern"),
        **names("passes.relax.fusion.backend_patterns", "make_matmul_pattern make_residual_block_pattern"),
        **names("passes.relax.fusion.backend_patterns", "make_attention_pattern make_stacked_attention_pattern"),
        **names("passes.relax.fusion.backend_patterns", "make_layer_norm_pattern make_rms_norm_pattern"),
        **names("passes.relax.fusion.backend_patterns", "make_matmul_dequantize_pattern make_matmul_multiply_pattern"),
        **names("passes.relax.fusion.attention_rewrite", "make_attention_rewrite_pattern"),
    },
    before=wire,
)
