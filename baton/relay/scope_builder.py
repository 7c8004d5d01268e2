"""Building nested lets and ifs in execution order (`tvm.relay.scope_builder`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("relay.scope_builder", "ScopeBuilder"),
    },
    before=wire,
)
