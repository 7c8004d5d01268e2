"""Registering pattern tables (`tvm.relay.op.contrib.register`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.pattern_tables", "register_pattern_table get_pattern_table"),
    },
)
