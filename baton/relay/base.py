"""Base classes of Relay's nodes (`tvm.relay.base`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.texts", "astext"),
        **names("driver.tvm_names.relay.words", "pretty_print"),
        **names("support.spans", "Span"),
        **renamed("support.spans", SourceName="Source"),
        **names("driver.tvm_names.relay.spans", "SequentialSpan"),
        **renamed("relay.nodes", RelayNode="Expr"),
    },
    before=wire,
)
