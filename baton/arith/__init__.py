"""Arithmetic on scalar expressions (`tvm.arith`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("tir.arith.analyzer", "Analyzer"),
        **names("tir.arith.answers", "ConstIntBound ModularSet ProofStrength Extension"),
        **names("tir.arith.int_set", "IntSet IntervalSet pos_inf neg_inf"),
        **names("tir.arith.systems.linear", "detect_linear_equation detect_clip_bound deduce_bound"),
        **names("tir.arith.iterators.iter_nodes", "IterMapExpr IterMark IterSplitExpr IterSumExpr IterMapLevel"),
        **names("tir.arith.iterators.iter_affine_map", "detect_iter_map normalize_to_iter_sum"),
        **names("tir.arith.iterators.iter_affine_map", "normalize_iter_map_to_expr iter_map_simplify subspace_divide"),
        **names("tir.arith.iterators.iter_affine_map", "inverse_affine_iter_map"),
        **names("tir.arith.region_bounds", "estimate_region_lower_bound estimate_region_strict_bound"),
        **names("tir.arith.region_bounds", "estimate_region_upper_bound"),
        **names("tir.arith.systems.linear_systems", "solve_linear_equations IntConstraints IntConstraintsTransform"),
        **names("tir.arith.common_subexpressions", "detect_common_subexpr"),
        **names("tir.arith.systems.linear_inequalities", "solve_linear_inequalities IntGroupBounds"),
        **submodules("baton.arith", "_ffi_api analyzer bound int_set int_solver iter_affine_map pattern"),
    },
    before=wire,
)
