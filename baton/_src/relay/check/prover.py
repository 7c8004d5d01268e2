"""Proofs about dims for type rules, with `?` never decided."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.tir.expr import AnyDim


class DimRules:
    """Proofs about dims (an `ir.op_def.DimProver`), by constants and identity alone."""

    def equal(self, a: Dim, b: Dim) -> bool | None:
        """True or False if certain, None if undecided."""
        if isinstance(a, AnyDim) or isinstance(b, AnyDim):
            return None
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return True if a is b else None

    def simplify(self, expr: PrimExpr) -> PrimExpr:
        return expr
