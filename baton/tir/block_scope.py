"""Dependencies between blocks (`tvm.tir.block_scope`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.schedule.conditions.block_scope", "BlockScope Dependency DepKind"),
        **names("tir.schedule.srefs", "StmtSRef"),
    },
    before=wire,
)
