"""The analyzer and its answers (`tvm.arith.analyzer`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.arith.analyzer", "Analyzer"),
        **names("tir.arith.answers", "ConstIntBound ModularSet ProofStrength Extension"),
    },
    before=wire,
)
