"""Functional operators of `nn` modules (`tvm.relax.frontend.nn.op`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

OPERATORS = {
    **names(
        "frontends.nn.op",
        "relu silu sigmoid tanh exp log sqrt square negative gelu softmax matmul sum max min concat split reshape",
    ),
    **names(
        "frontends.nn.op",
        "permute_dims broadcast_to squeeze unsqueeze repeat take astype where full zeros ones triu layer_norm rms_norm",
    ),
    **names(
        "frontends.nn.op",
        "conv1d conv2d conv3d conv1d_transpose group_norm scaled_dot_product_attention",
    ),
    **names("frontends.nn.op", "add subtract multiply divide maximum minimum floor arange"),
    **names("frontends.nn.op", "less less_equal greater greater_equal equal not_equal"),
    **names("frontends.nn.op", "chunk empty pad permute relu6 softplus prelu"),
    **names("frontends.nn.ordering_ops", "cumsum sort argsort topk multinomial_from_uniform"),
    **names("frontends.nn.sampling_ops", "sample_top_p_top_k_from_sorted_prob renormalize_top_p_top_k_prob"),
    **names("frontends.nn.image_ops", "interpolate get_timestep_embedding"),
    **names(
        "frontends.nn.kernel_ops",
        "tensor_expr_op tensor_ir_op tensor_ir_inplace_op extern debug_func print_",
    ),
    **names("frontends.nn.tensor", "wrap_nested IntExpr"),
}
"""The operators, which `nn` itself has too."""

__getattr__, __dir__, __all__ = attach(__name__, OPERATORS, before=wire)
