"""The pattern language (`tvm.relay.dataflow_pattern`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("relay.patterns", "DFPattern WildcardPattern ExprPattern VarPattern ConstantPattern CallPattern"),
        **names("relay.patterns", "FunctionPattern LetPattern IfPattern TuplePattern TupleGetItemPattern AltPattern"),
        **names("relay.patterns", "AttrPattern TypePattern DataTypePattern ShapePattern DominatorPattern"),
        **names("relay.patterns", "wildcard is_var is_constant is_expr is_op is_tuple is_tuple_get_item is_if is_let"),
        **names("relay.patterns", "has_type has_dtype has_shape has_attr dominates"),
        **names("relay.pattern_rewrite", "DFPatternCallback rewrite partition match"),
    },
    before=wire,
)
