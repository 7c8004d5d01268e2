"""EtaExpand: constructors (and globals) used as values become functions that call them.

    @map(S, %xs)      becomes      @map(fn (%a0: Nat[]) -> Nat[] { S(%a0) }, %xs)

Operators used as values are expanded too, unless told otherwise: the compiler only supports direct calls of operators.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, FuncType, TypeVar
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.check.relations import relay_inputs
from baton._src.relay.check.substitute import substitute_types
from baton._src.relay.expressions import walk, with_parts
from baton._src.relay.nodes import Call, Function, Var
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class EtaExpand(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 1
    expand_constructor: bool = False
    expand_global_var: bool = False
    expand_operator: bool = True

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        done: dict[Any, Any] = {}
        made: dict[Any, Any] = {}
        for node in walk(function):
            if self._expands(node):
                made[node] = expanded(node, module)
        if not made:
            return function
        for node in walk(function):
            new = with_parts(node, done)
            if isinstance(node, Call) and node.op in made:  # what is called stays
                new = new.with_fields(op=node.op)
            new = made.get(node, new)
            if new is not node:
                done[node] = new
        return done.get(function, function)

    def _expands(self, node: Any) -> bool:
        if isinstance(node, Constructor):
            return self.expand_constructor
        if isinstance(node, Op):
            return self.expand_operator
        return isinstance(node, GlobalVar) and self.expand_global_var


def expanded(node: Any, module: IRModule) -> Function:
    """`fn (params) { node(params) }`, annotated where the types are known."""
    if isinstance(node, Op):
        params = [Var(f"a{i}") for i in range(len(relay_inputs(node)))]
        return Function(params, Call(node, params))
    if isinstance(node, Constructor):
        declared = module.type_definitions[node.belong_to].type_vars
        fresh = {v: TypeVar(v.name_hint, v.kind) for v in declared}
        params = [Var(f"a{i}", substitute_types(t, fresh)) for i, t in enumerate(node.inputs)]
        return Function(params, Call(node, params), None, tuple(fresh.values()))
    type_ = node.checked_type
    assert isinstance(type_, FuncType)
    fresh = {v: TypeVar(v.name_hint, v.kind) for v in type_.type_params}
    params = [Var(f"a{i}", substitute_types(t, fresh)) for i, t in enumerate(type_.arg_types)]
    return Function(params, Call(node, params), substitute_types(type_.ret_type, fresh), tuple(fresh.values()))
