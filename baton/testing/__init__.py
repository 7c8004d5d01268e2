"""Helpers for tests (`tvm.testing`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, submodules
from baton.testing.utils import HELPERS

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **HELPERS,
        **submodules("baton.testing", "plugin utils"),
    },
    before=wire,
)
