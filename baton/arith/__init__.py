"""Arithmetic on scalar expressions (`tvm.arith`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.arith.analyzer", "Analyzer ConstIntBound ModularSet ProofStrength Extension"),
        **names("tir.arith.int_set", "IntSet IntervalSet pos_inf neg_inf"),
        **names("tir.arith.linear", "detect_linear_equation detect_clip_bound deduce_bound"),
        **submodules("baton.arith", "analyzer bound int_set pattern"),
    },
    before=wire,
)
