"""Pattern tables for `relay.transform.MergeComposite` (`tvm.relay.op.contrib`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.relay.pattern_tables", "register_pattern_table get_pattern_table"),
        **submodules("baton.relay.op.contrib", "register"),
    },
)
