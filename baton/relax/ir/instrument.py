"""Instruments that watch passes over Relax (`tvm.relax.ir.instrument`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    names("driver.tvm_names.relax.well_formed_instrument", "WellFormedInstrument"),
    before=wire,
)
