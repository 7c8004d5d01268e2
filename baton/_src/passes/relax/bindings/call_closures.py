"""CallClosures: a closure that is called where it was made is a call of its function.

    f = R.make_closure(cls.step, (w,))
    y = R.invoke_pure_closure(f, (x,), sinfo_args=...)      ->      y = cls.step(x, w)

Such are the loops of importers, which use what is outside of them. The function can be inlined or become native code
like any other, and no closure is made in each run (64 us). Closures that functions or branches return are left alone.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.call_pass import CallPass
from baton._src.relax.nodes import Call, Function, Tuple
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass


@dataclass(frozen=True)
class CallClosures(CallPass):
    """See the module."""

    def replaced(self, call: Call, at: BindingRewriter) -> Any:
        """A call of a closure as one of its function, where that is known."""
        if call.op is not special_op("invoke_pure_closure"):
            return call
        made, given = at.resolved(call.args[0]), at.resolved(call.args[1])
        if not isinstance(made, Call) or made.op is not special_op("make_closure"):
            return call
        function, captured = made.args[0], at.resolved(made.args[1])
        args = [*given.fields, *captured.fields] if isinstance(given, Tuple) and isinstance(captured, Tuple) else None
        known = at.context.functions.get(function) if isinstance(function, GlobalVar) else None
        if args is None or not isinstance(known, Function) or not known.is_pure or len(args) != len(known.params):
            return call
        return Call(function, args, span=call.span) if all(map(at.is_visible, args)) else call
