"""Analyses of TIR (`tvm.tir.analysis`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("ir.structural", expr_deep_equal="structural_equal"),
        **names("tir.check", "verify_well_formed"),
    },
    before=wire,
)
