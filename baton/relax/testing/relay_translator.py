"""Translating Relay to Relax (`tvm.relax.testing.relay_translator`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("driver.relay.to_relax", from_relay="translated"),
    },
    before=wire,
)
