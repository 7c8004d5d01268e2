"""The dataflow pattern language (`tvm.relax.dpl`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "relax.patterns.builders",  # and not `nodes`: this one sees that patterns can be matched
            "DFPattern VarPattern DataflowVarPattern GlobalVarPattern ExprPattern ConstantPattern WildcardPattern",
        ),
        **names(
            "relax.patterns.builders",
            "CallPattern TuplePattern UnorderedTuplePattern TupleGetItemPattern FunctionPattern PrimArrPattern",
        ),
        **names(
            "relax.patterns.builders",
            "ExternFuncPattern OrPattern AndPattern NotPattern TypePattern StructInfoPattern ShapePattern AttrPattern",
        ),
        **names("relax.patterns.builders", "DataTypePattern SameShapeConstraint"),
        **names(
            "relax.patterns.builders",
            "wildcard is_const is_expr is_var is_dfv is_gv is_shape is_tuple is_tuple_get_item is_call_tir",
        ),
        **names(
            "relax.patterns.builders",
            "reject has_attr has_dtype is_call_packed is_call_dps_packed is_call_tir_extern make_fused_bias_activation_pattern",
        ),
        **names("driver.tvm_names.relax.patterns", "is_op"),
        **names("relax.patterns.context", "PatternContext PatternSeq"),
        **names("passes.relax.rewrite_patterns", "rewrite_call rewrite_bindings"),
        **names("passes.relax.pattern_matching_rewriter", "PatternMatchingRewriter rewriter"),
        **renamed(
            "passes.relax.pattern_matching_rewriter",
            ExprPatternRewriter="expr_pattern_rewriter",
            OrRewriter="or_rewriter",
            TupleRewriter="tuple_rewriter",
        ),
        **submodules("baton.relax.dpl", "context pattern rewrite"),
    },
    before=wire,
)
