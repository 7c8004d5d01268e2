"""Rotary position embeddings (`tvm.relax.frontend.nn.llm.position_embedding`)."""

from __future__ import annotations

from baton._src.driver.frontends.nn_wiring import wire_nn
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "frontends.nn.llm.rope_frequencies",
            "rope_freq_default rope_freq_gptj rope_freq_llama3 rope_freq_longrope switch_rope_freq_func",
        ),
        **names("frontends.nn.llm.position_embedding", "llama_rope llama_rope_with_position_map"),
    },
    before=wire_nn,
)
