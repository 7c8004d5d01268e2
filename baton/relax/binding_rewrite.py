"""Editing the bindings of dataflow blocks (`tvm.relax.binding_rewrite`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relax.bindings.dataflow_block_rewrite", "DataflowBlockRewrite"),
    },
    before=wire,
)
