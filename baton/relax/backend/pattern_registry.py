"""The registry of named patterns (`tvm.relax.backend.pattern_registry`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relax.fusion.pattern_registry", "register_patterns get_patterns_with_prefix get_pattern"),
    },
    before=wire,
)
