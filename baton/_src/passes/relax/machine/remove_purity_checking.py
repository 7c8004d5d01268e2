"""RemovePurityChecking: switch off purity checks from here on, so that lowering may insert calls with effects.

    R.call_pure_packed("f", x)      ->      R.call_packed("f", x)       in a function with `relax.force_pure`

Pure functions get the attribute `relax.force_pure`; wrappers that assert purity are removed. A remaining dataflow block
is an error (`pass-dataflow`), since it may not contain calls with effects; run ToNonDataflow first.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import BindingBlock, Call, DataflowBlock, Function, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class RemovePurityChecking(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Unwrapper(module).function(function)


class _Unwrapper(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.wrappers = {special_op("call_pure_packed"), special_op("call_inplace_packed")}
        self.pure_closure, self.closure = special_op("invoke_pure_closure"), special_op("invoke_closure")

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call):
            return value
        if value.op in self.wrappers:
            return value.with_fields(op=value.args[0], args=value.args[1:], attrs=None)
        return value.with_fields(op=self.closure) if value.op is self.pure_closure else value

    def leave_block(self, block: BindingBlock, bindings: list[Any]) -> Any:
        if isinstance(block, DataflowBlock) and any(b is not old for b, old in zip(bindings, block.bindings)):
            raise fail(
                "pass-dataflow", "RemovePurityChecking would put a call with effects into a dataflow block",
                span=block.span, help="run ToNonDataflow first",
            )  # fmt: skip
        return super().leave_block(block, bindings)

    def leave_function(self, function: Function) -> Function:
        if function.is_pure and not function.attrs.get("relax.force_pure"):
            return function.with_attr("relax.force_pure", True)
        return function
