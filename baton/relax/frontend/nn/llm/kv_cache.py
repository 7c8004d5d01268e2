"""Paged KV caches (`tvm.relax.frontend.nn.llm.kv_cache`)."""

from __future__ import annotations

from baton._src.driver.frontends.nn_wiring import wire_nn
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("frontends.nn.llm.kv_cache", "RopeMode PagedKVCache TIRPagedKVCache FlashInferPagedKVCache"),
    },
    before=wire_nn,
)
