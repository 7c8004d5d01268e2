"""Inline: calls of functions marked `Inline` become their bodies. A call means its function's body (RELAY-FRAG-4).

    def @f(%x, Inline=1) { %x + 1 }   @f(%y)      becomes      %y + 1

`inline_call(function, call)` is the substitution itself, with fresh variables for the bindings of the body.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.passes.relay.fresh_copy import fresh_copy
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.relay.type_instances import is_polymorphic, type_arguments, with_types
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class Inline(RelayFunctionPass):
    """See the module's docstring. A function is not inlined into itself, nor one that is for an external compiler."""

    opt_level: ClassVar[int] = 1

    def rewriter(self, module: IRModule, ctx: PassContext) -> Callable[[Any], Any]:
        marked = {
            v.name_hint: f
            for v, f in module.functions.items()
            if isinstance(f, Function) and f.attrs.get("Inline") and not f.attrs.get("Compiler")
        }

        def rewritten(function: Function) -> Any:
            def rule(old: GraphExpr, new: GraphExpr) -> Any:
                if not isinstance(new, Call) or not isinstance(new.op, GlobalVar):
                    return None
                callee = marked.get(new.op.name_hint)
                return None if callee is None or callee is function else inline_call(callee, new)

            return rewrite(function, rule) if marked else function

        return rewritten


def inline_call(function: Function, call: Call) -> Any:
    """The body of `function`, which `call` calls, with the arguments for its parameters and the types of the call for
    its type parameters; an argument used several times stays one node."""
    scheme = function.checked_type_
    types = type_arguments(scheme, call) if is_polymorphic(function) else {}
    known = {param: type_ for param, type_ in types.items() if type_ is not None}
    copy = with_types(function, known) if known else fresh_copy(function)
    return substitute(copy.body, dict(zip(copy.params, call.args)), notes=False)
