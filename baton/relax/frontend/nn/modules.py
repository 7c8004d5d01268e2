"""Layers (`tvm.relax.frontend.nn.modules`)."""

from __future__ import annotations

from baton._src.driver.frontends.nn_wiring import wire_nn
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("frontends.nn.effects", "IOEffect KVCache"),
        **names(
            "frontends.nn.layers", "Linear MultiLinear Embedding LayerNorm RMSNorm GroupNorm ReLU SiLU GELU Identity"
        ),
        **names("frontends.nn.layers", "Conv1D Conv2D Conv3D ConvTranspose1D"),
        **names("frontends.nn.diffusion", "TimestepEmbedding Timesteps Attention"),
    },
    before=wire_nn,
)
