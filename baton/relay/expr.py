"""Expressions (`tvm.relay.expr`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "relay.nodes",
            "Expr Constant Var Tuple TupleGetItem Call Let If Function RefCreate RefRead RefWrite Pattern",
        ),
        **names("relay.nodes", "PatternWildcard PatternVar PatternConstructor PatternTuple Clause Match TempExpr var"),
        **names("ir.expr", "GlobalVar"),
        **names("driver.tvm_names.relay.words", "const"),
        **names("ops.tuple_wrapper", "TupleWrapper"),
        **renamed("ir.expr", RelayExpr="GraphExpr"),
        **names("driver.tvm_names.relay.words", "bind"),
        **names(
            "driver.tvm_names.relay.with_fields",
            "ConstantWithFields TupleWithFields VarWithFields CallWithFields LetWithFields IfWithFields",
        ),
        **names(
            "driver.tvm_names.relay.with_fields",
            "TupleGetItemWithFields RefCreateWithFields RefReadWithFields RefWriteWithFields",
        ),
        **renamed("relay.nodes", ExprWithOp="Expr"),
        **names("driver.tvm_names.relay.words", "pretty_print"),
        **names("driver.tvm_names.texts", "astext"),
    },
    before=wire,
)
