"""DissolveMarks: the marks of a gradient are their operands.

    s = R.grad.start_checkpoint(x)
    a = R.sin(s)                            ->      a = R.sin(x)

Gradient has read them by then, and MergeEqualBindings has left alone what is behind them (`checkpoints`). A mark gives
a tensor of its own; where that may be seen (`analysis.exposure`) it stays.
"""

from __future__ import annotations

from baton._src.analysis.exposure import Exposure
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.checkpoints import is_mark
from baton._src.relax.check.same_info import same_info
from baton._src.relax.nodes import Binding, DataflowVar, Function, Var
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


@dataclass(frozen=True)
class DissolveMarks(FunctionPass):
    """See the module."""

    opt_level = 1
    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Dissolver(Exposure(function)).function(function)


class _Dissolver(BindingRewriter):
    def __init__(self, exposure: Exposure) -> None:
        super().__init__()
        self.exposure = exposure

    def visit_binding(self, binding: Binding) -> None:
        var, value = binding.var, binding.value
        if is_mark(value) and isinstance(value.args[0], Var) and self._is_private(var, value.args[0]):
            self.replace(var, value.args[0])
        else:
            self.keep(binding)

    def _is_private(self, var: Var, operand: Var) -> bool:
        """Whether nothing tells `var` from `operand`: no annotation, no scope, no write, no result of the function."""
        seen = var in self.exposure or (self.exposure.has_effects and operand in self.exposure)
        narrower = isinstance(operand, DataflowVar) and not isinstance(var, DataflowVar)
        return not seen and not narrower and same_info(var.struct_info_, operand.struct_info_)
