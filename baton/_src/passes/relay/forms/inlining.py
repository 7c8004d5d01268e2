"""Inline: calls of functions marked `Inline` become their bodies. A call means its function's body (RELAY-FRAG-4).

    def @f(%x, Inline=1) { %x + 1 }   @f(%y)      becomes      %y + 1

`inline_call(function, args)` is the substitution itself, with fresh variables for the bindings of the body.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.passes.relay.fresh_copy import fresh_copy, substitute_in_code
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class Inline(RelayFunctionPass):
    """See the module's docstring. A function is not inlined into itself, nor one that is for an external compiler."""

    opt_level: ClassVar[int] = 1

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        marked = {
            v.name_hint: f
            for v, f in module.functions.items()
            if isinstance(f, Function) and f.attrs.get("Inline") and not f.attrs.get("Compiler") and f is not function
        }

        def rule(old: Any, new: Any) -> Any:
            if isinstance(new, Call) and isinstance(new.op, GlobalVar) and new.op.name_hint in marked:
                return inline_call(marked[new.op.name_hint], new.args, new.written_type_args)
            return None

        return rewrite(function, rule) if marked else function


def inline_call(function: Function, args: tuple[Any, ...], type_args: tuple[Any, ...] = ()) -> Any:
    """The body of `function` with `args` for its parameters; an argument used several times stays one node."""
    copy = fresh_copy(function)
    if type_args and len(type_args) == len(copy.type_params):
        copy = substitute_in_code(copy, dict(zip(copy.type_params, type_args)))
    return substitute(copy.body, dict(zip(copy.params, args)), notes=False)
