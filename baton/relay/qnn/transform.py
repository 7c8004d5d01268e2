"""Passes over quantised operators (`tvm.relay.qnn.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relay.quantize.qnn_canonicalize", "CanonicalizeOps"),
        **renamed("passes.relay.quantize.qnn_canonicalize", Legalize="qnn_legalize"),
    },
    before=wire,
)
