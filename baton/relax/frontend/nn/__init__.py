"""Models written as modules (`tvm.relax.frontend.nn`)."""

from __future__ import annotations

from baton._src.driver.frontends.nn_wiring import wire_nn
from baton._src.support.lazy import attach, names, submodules
from baton.relax.frontend.nn.op import OPERATORS

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **OPERATORS,
        **names("frontends.nn.tensor", "Tensor Parameter Object"),
        **names("frontends.nn.module", "Module ModuleList"),
        **names("frontends.nn.subroutine", "SubroutineMixin"),
        **names("frontends.nn.effects", "Effect IOEffect KVCache"),
        **names("frontends.nn.mutator", "Mutator"),
        **names("frontends.nn.extern", "ExternModule ObjectModule SourceModule add_extern"),
        **names("driver.frontends.nn_jit", "TorchModule"),
        **names("frontends.nn.export", "Exporter"),
        **names(
            "frontends.nn.layers", "Linear MultiLinear Embedding LayerNorm RMSNorm GroupNorm ReLU SiLU GELU Identity"
        ),
        **names("frontends.nn.layers", "Conv1D Conv2D Conv3D ConvTranspose1D"),
        **names("frontends.nn.diffusion", "TimestepEmbedding Timesteps Attention"),
        **submodules("baton.relax.frontend.nn", "core llm modules op spec subroutine"),
    },
    before=wire_nn,
)
