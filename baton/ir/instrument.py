"""Instruments that watch passes (`tvm.ir.instrument`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "transform.instruments",
            "DumpIR PassInstrument PassTimingInstrument PassPrintingInstrument PrintAfterAll PrintBeforeAll",
        ),
        **names("transform.instruments", "pass_instrument"),
    },
    before=wire,
)
