"""Visitors and mutators over Relax (`tvm.relax.expr_functor`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("relax.functors", "ExprFunctor ExprVisitor ExprMutator visitor mutator"),
        **renamed("relax.functors", PyExprVisitor="ExprVisitor", PyExprMutator="ExprMutator"),
    },
    before=wire,
)
