"""The memory dialect (`tvm.relay.op.memory`)."""

from __future__ import annotations

from functools import partial

from baton._src.driver.tvm_names.builders import relay_builders
from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relay.memory.tuple_types", "flatten_tuple_type from_tuple_type to_tuple_type"),
    },
    before=wire,
    more=partial(relay_builders, "memory"),
)
