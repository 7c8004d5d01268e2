"""Visitors and mutators of expressions (`tvm.relay.expr_functor`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("relay.expr_functor", "ExprFunctor ExprVisitor ExprMutator"),
        # Scripts import nodes from here, as TVM's module has them.
        **names(
            "relay.nodes",
            "Call Constant Constructor Clause Function If Let Match RefCreate RefRead RefWrite Tuple TupleGetItem Var",
        ),
        **names("ir.expr", "GlobalVar Op"),
    },
    before=wire,
)
