"""CallClosures: a closure that is called where it was made is a call of its function.

    f = R.make_closure(cls.step, (w,))
    y = R.invoke_pure_closure(f, (x,), sinfo_args=...)      ->      y = cls.step(x, w)

Such are the loops of importers, which use what is outside of them. The function can be inlined or become native code
like any other, and no closure is made in each run (64 us). Closures that functions or branches return are left alone.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.nodes import Call, Function, Tuple, VarBinding
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

INVOKE = "relax.invoke_pure_closure"


@dataclass(frozen=True)
class CallClosures(FunctionPass):
    """See the module."""

    function_class = Function

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Caller(module).function(function)


class _Caller(BindingRewriter):
    def rewrite_value(self, binding: VarBinding, value: Any) -> Any:
        if not isinstance(value, Call) or not isinstance(value.op, Op) or value.op.name != INVOKE:
            return value
        made, given = self.resolved(value.args[0]), self.resolved(value.args[1])
        if not isinstance(made, Call) or not isinstance(made.op, Op) or made.op.name != "relax.make_closure":
            return value
        function, captured = made.args[0], self.resolved(made.args[1])
        args = [*given.fields, *captured.fields] if isinstance(given, Tuple) and isinstance(captured, Tuple) else None
        known = self.context.functions.get(function) if isinstance(function, GlobalVar) else None
        if args is None or not isinstance(known, Function) or not known.is_pure or len(args) != len(known.params):
            return value
        return self.normalized(Call(function, args, span=value.span)) if all(map(self.is_visible, args)) else value
