"""`CallPass`: a pass that replaces calls of operators one by one, each by what it says.

@dataclass(frozen=True)
class Doubled(CallPass):
    def replaced(self, call, at):
        return R.add(call.args[0], call.args[0]) if ... else call
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import Call, Function, VarBinding
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class CallPass(FunctionPass):
    """See the module."""

    function_class = Function

    def replaced(self, call: Call, at: BindingRewriter) -> Any:
        """`call`, which is of an operator, or what takes its place; `at` knows what is bound, and binds operands."""
        raise NotImplementedError

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Rewriter(module, self).function(function)


class _Rewriter(BindingRewriter):
    def __init__(self, module: IRModule, rule: CallPass) -> None:
        super().__init__(module)
        self.rule = rule

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call) or not isinstance(value.op, Op):
            return value
        made = self.rule.replaced(value, self)
        return value if made is value else self.normalized(made)
