"""Comparing and saving nodes (`tvm.ir.base`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.near_structural", "structural_equal assert_structural_equal get_first_structural_mismatch"),
        **names("ir.structural_hash", "structural_hash"),
        **names("driver.tvm_names.node_json", "load_json save_json"),
        **names("driver.tvm_names.objects", "make_node"),
        **names("ir.node", "Node"),
        **names("support.spans", "Span"),
        **names("driver.tvm_names.relay.spans", "SequentialSpan"),
        **renamed("support.spans", SourceName="Source"),
    },
    before=wire,
)
