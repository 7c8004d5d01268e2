"""Analyses of TIR (`tvm.tir.analysis`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.structural", "structural_equal"),
        **renamed("ir.structural", expr_deep_equal="structural_equal"),
        **renamed("driver.tir_functors", verify_well_formed="verify_well_formed", undefined_vars="undefined_vars"),
    },
    before=wire,
)
