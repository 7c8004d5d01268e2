"""NameSizes: kernels get names for the sizes that they compute from the integers passed to them.

    cls.relu(x, out_sinfo=R.Tensor((n // 2 + 1, 8)), tir_vars=[n])       ->       cls.relu(x, out_sinfo=...)

    # with A: T.Buffer((n // 2 + 1, 8)) inside                           ->       # with A: T.Buffer((m, 8)) inside

A network whose height and width are open has a kernel for each resolution otherwise, although they compute the same
(`passes/shared/named_sizes`). Runs on the final kernels: passes before it compare sizes.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.shared.named_sizes import NamedSizes, integers, with_named_sizes
from baton._src.relax.nodes import Call, Function, ShapeExpr, VarBinding
from baton._src.relax.special_ops import special_op
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class NameSizes(Pass):
    """See the module."""

    opt_level = 2

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        named = {v: found for v, f in _private_kernels(module).items() if (found := with_named_sizes(f)) is not None}
        if not named:
            return module
        caller = _Caller(module, named)
        functions = {v: caller.function(f) for v, f in module.functions.items() if isinstance(f, Function)}
        return module.with_functions(
            {**module.functions, **functions, **{v: found.function for v, found in named.items()}}
        )


def _private_kernels(module: IRModule) -> dict[GlobalVar, PrimFunc]:
    """Kernels with integers that nobody but `call_tir` uses."""
    found: dict[GlobalVar, PrimFunc] = {}
    for var, function in module.functions.items():
        if isinstance(function, PrimFunc) and "global_symbol" not in function.attrs and integers(function):
            found[var] = function
    for function in module.functions.values() if found else ():
        for node in post_order(function):
            used: Any = children(node)
            if isinstance(node, Call) and node.op is special_op("call_tir"):
                used = node.args[1:] if _passes_integers(node) else node.args
            for other in used:
                if isinstance(other, GlobalVar):
                    found.pop(other, None)
    return found


def _passes_integers(call: Call) -> bool:
    return len(call.args) > 2 and isinstance(call.args[2], ShapeExpr)


class _Caller(BindingRewriter):
    """Passes the integers that the kernels take now."""

    def __init__(self, module: IRModule, named: dict[GlobalVar, NamedSizes]) -> None:
        super().__init__(module)
        self.named = named

    def rewrite_value(self, binding: VarBinding, value: GraphExpr) -> Any:
        if not isinstance(value, Call) or value.op is not special_op("call_tir") or value.args[0] not in self.named:
            return value
        kernel, passed = self.named[value.args[0]], value.args[2].values
        former = self.context.functions[value.args[0]]
        meaning = dict(zip(integers(former), passed))
        chosen = [*(passed[i] for i in kernel.kept), *(substitute(e, meaning) for e in kernel.added)]
        args = [*value.args[:2], *([ShapeExpr(chosen)] if chosen else [])]
        return self.normalized(value.with_fields(args=tuple(args)))
