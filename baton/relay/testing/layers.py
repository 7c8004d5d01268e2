"""Layers that create their parameters (`tvm.relay.testing.layers`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "driver.tvm_names.relay.networks.layers",
            "conv2d conv3d conv2d_transpose batch_norm_infer dense_add_bias conv_kernel_layout",
        ),
    },
    before=wire,
)
