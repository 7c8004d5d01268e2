"""Builders (`tvm.relay.op.algorithm`)."""

from __future__ import annotations

from baton._src.driver.tvm_names.builders import relay_builders
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach

__getattr__, __dir__, __all__ = attach(
    __name__,
    {},
    before=wire,
    more=relay_builders,
)
