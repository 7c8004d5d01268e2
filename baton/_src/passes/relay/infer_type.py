"""InferType: fill in the type of every expression.

Also `infer_type_local(expr)`: the type of one expression whose parts are typed.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.relay.check.infer_type import infer_expr, infer_type
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class InferType(Pass):
    """Check and annotate the module; `DiagnosticError` lists all type errors."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return infer_type(module)


def infer_type_local(expr: GraphExpr) -> Any:
    """The type of `expr`, whose free variables have their declared types."""
    return infer_expr(expr).checked_type
