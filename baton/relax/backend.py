"""Passes that choose implementations (`tvm.relax.backend`); on CPUs they leave programs as they are."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relax.dispatch", "DispatchSampling DispatchSortScan"),
    },
    before=wire,
)
