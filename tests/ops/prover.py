"""The prover that tests of shape rules use."""

from __future__ import annotations

from typing import Any


class PlainProver:
    """Knows nothing but identity."""

    def equal(self, a: Any, b: Any) -> bool | None:
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return True if a is b else None

    def simplify(self, expr: Any) -> Any:
        return expr


try:
    from baton._src.tir.arith.analyzer import Analyzer

    PROVER: Any = Analyzer()
except ImportError:
    PROVER = PlainProver()
