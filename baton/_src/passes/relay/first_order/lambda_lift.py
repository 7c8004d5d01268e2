"""LambdaLift: closures become functions of the module that take their free variables as leading parameters.

    def @main(%x) { let %f = fn (%y) { %y + %x }; %f(1) }
becomes
    def @main(%x) { let %f = @lifted_f(%x); %f(1) }
    def @lifted_f(%x, Closure=1) { fn (%y) { %y + %x } }

Values that a closure shares with the code around it are bound there first (ToBasicBlockNormalForm): they are computed
once, not in each call. A function without free variables becomes a global directly. A recursive one calls its global.
Closures that capture polymorphic values are kept, since a global could not name their type variables.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.types import TypeVar
from baton._src.passes.relay.forms.to_basic_block_normal_form import ToBasicBlockNormalForm
from baton._src.passes.relay.fresh_copy import fresh_copy
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import replace, walk, with_parts
from baton._src.relay.nodes import Call, Function, Let, Var
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class LambdaLift(Pass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 1

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        module = ToBasicBlockNormalForm()(module)
        functions = dict(module.functions)
        for var, function in module.functions.items():
            if isinstance(function, Function) and not RelayFunctionPass.skips(function):
                if not function.attrs.get("Primitive"):
                    _Lifter(functions, var.name_hint).lift(var, function)
        changed = any(functions.get(v) is not f for v, f in module.functions.items()) or len(functions) != len(module)
        return infer_type(module.with_functions(functions)) if changed else module


class _Lifter:
    """Lifts the closures of one function, innermost first."""

    def __init__(self, functions: dict[GlobalVar, Any], name: str) -> None:
        self._functions = functions
        self._name = name

    def lift(self, var: GlobalVar, function: Function) -> None:
        done: dict[Any, Any] = {}
        names = {n.value: n.var for n in walk(function.body) if isinstance(n, Let) and isinstance(n.value, Function)}
        for node in walk(function.body):
            made = with_parts(node, done)
            if isinstance(node, Function) and not node.attrs.get("Primitive"):
                made = self._lifted(made, names.get(node))
            if made is not node:
                done[node] = made
        body = done.get(function.body, function.body)
        if body is not function.body:
            self._functions[var] = function.with_fields(body=body)

    def _lifted(self, function: Function, name: Var | None) -> Any:
        captured = [v for v in free_vars(function) if v is not name]
        types = [v.checked_type_ for v in captured]
        if function.type_params or _polymorphic(function.checked_type_, *types):
            return function
        made = self._fresh(f"lifted_{self._name}_{name.name_hint if name else 'fn'}")
        params = [Var(v.name_hint, v.checked_type_) for v in captured]
        replacements: dict[Any, Any] = dict(zip(captured, params))
        value: Any = Call(made, captured) if captured else made
        set_note(value, "checked_type_", function.checked_type_)
        if name is not None:
            replacements[name] = Call(made, params) if params else made
        inner = replace(fresh_copy(function), replacements)
        type_ = function.checked_type_
        if captured:
            self._functions[made] = Function(params, inner, type_, attrs={"Closure": 1})
        else:
            self._functions[made] = inner.with_fields(ret_annotation=inner.ret_annotation or type_.ret_type)
        return value

    def _fresh(self, hint: str) -> GlobalVar:
        return GlobalVar(free_name(hint, {v.name_hint for v in self._functions}, "_"))


def _polymorphic(*types: Any) -> bool:
    return any(t is None or any(isinstance(leaf, TypeVar) for leaf in leaves(t)) for t in types)
