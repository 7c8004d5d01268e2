"""Passes that choose implementations (`tvm.relax.backend`), which on CPUs leave programs as they are; patterns by name."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relax.operators.dispatch", "DispatchSampling DispatchSortScan"),
        **names("passes.relax.fusion.pattern_registry", "register_patterns get_patterns_with_prefix get_pattern"),
        **submodules("baton.relax.backend", "cpu_generic pattern_registry patterns"),
    },
    before=wire,
)
