"""Global infos (`tvm.ir.global_info`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.global_info", "GlobalInfo VDevice DummyGlobalInfo"),
    },
    before=wire,
)
