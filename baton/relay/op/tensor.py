"""Builders (`tvm.relay.op.tensor`)."""

from __future__ import annotations

from baton._src.driver.tvm_names.builders import relay_builders
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {**names("driver.tvm_names.relay.words", "device_copy")},
    before=wire,
    more=relay_builders,
)
