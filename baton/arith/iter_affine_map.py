"""Indices as maps of iterators (`tvm.arith.iter_affine_map`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.arith.iterators.iter_nodes", "IterMapExpr IterMark IterSplitExpr IterSumExpr IterMapLevel"),
        **names("tir.arith.iterators.iter_affine_map", "detect_iter_map normalize_to_iter_sum"),
        **names("tir.arith.iterators.iter_affine_map", "normalize_iter_map_to_expr iter_map_simplify subspace_divide"),
        **names("tir.arith.iterators.iter_affine_map", "inverse_affine_iter_map"),
    },
    before=wire,
)
