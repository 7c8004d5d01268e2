"""Operators on the tensors of modules (`tvm.relax.frontend.nn.op`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
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
            "conv2d scaled_dot_product_attention tensor_expr_op add subtract multiply divide maximum minimum",
        ),
        **names("frontends.nn.op", "less less_equal greater greater_equal equal not_equal"),
    },
    before=wire,
)
