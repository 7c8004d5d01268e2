"""Rewriting the matches of patterns (`tvm.relax.dpl.rewrite`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relax.rewrite_patterns", "rewrite_call rewrite_bindings"),
        **names("passes.relax.pattern_matching_rewriter", "PatternMatchingRewriter rewriter"),
        **renamed(
            "passes.relax.pattern_matching_rewriter",
            ExprPatternRewriter="expr_pattern_rewriter",
            OrRewriter="or_rewriter",
            TupleRewriter="tuple_rewriter",
        ),
    },
    before=wire,
)
