"""Building blocks of language models (`tvm.relax.frontend.nn.llm`)."""

from __future__ import annotations

from baton._src.driver.frontends.nn_wiring import wire_nn
from baton._src.support.lazy import attach, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **submodules("baton.relax.frontend.nn.llm", "kv_cache position_embedding"),
    },
    before=wire_nn,
)
