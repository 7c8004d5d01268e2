"""Patterns and their constructors (`tvm.relax.dpl.pattern`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "relax.patterns.builders",  # and not `nodes`: this one sees that patterns can be matched
            "DFPattern VarPattern DataflowVarPattern GlobalVarPattern ExprPattern ConstantPattern WildcardPattern "
            "CallPattern TuplePattern UnorderedTuplePattern TupleGetItemPattern FunctionPattern PrimArrPattern "
            "ExternFuncPattern OrPattern AndPattern NotPattern TypePattern StructInfoPattern ShapePattern AttrPattern "
            "DataTypePattern SameShapeConstraint wildcard is_const is_expr is_var is_dfv is_gv is_shape is_tuple "
            "is_tuple_get_item is_call_tir reject has_attr has_dtype is_call_packed is_call_dps_packed "
            "is_call_tir_extern make_fused_bias_activation_pattern",
        ),
        **names("driver.tvm_names.relax.patterns", "is_op"),
        **names("relax.patterns.context", "PatternSeq"),
    },
    before=wire,
)
