"""EtaExpand: constructors (and globals) used as values become functions that call them.

    @map(S, %xs)      becomes      @map(fn (%a0: Nat[]) -> Nat[] { S(%a0) }, %xs)

Operators used as values are expanded too, unless told otherwise: the compiler only supports direct calls of operators.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, TypeVar
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.check.relations import relay_inputs
from baton._src.relay.check.substitute import substitute_types
from baton._src.relay.expressions import parts, rewrite, with_parts
from baton._src.relay.nodes import Call, Function, Tuple, Var
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class EtaExpand(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 1
    expand_constructor: bool = False
    expand_global_var: bool = False
    expand_operator: bool = True

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        def values(items: tuple[Any, ...]) -> tuple[Any, ...]:
            if not any(map(self._expands, items)):
                return items
            return tuple(expanded(item, module) if self._expands(item) else item for item in items)

        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            match new:  # each use has an expansion of its own, since a node has one type; what is called stays
                case Call():
                    return new.with_fields(args=values(new.args))
                case Tuple():
                    return new.with_fields(fields=values(new.fields))
                case _:
                    return with_parts(new, dict(zip(parts(new), values(parts(new)))))

        return rewrite(function, rule)

    def _expands(self, node: Any) -> bool:
        if isinstance(node, Constructor):
            return self.expand_constructor
        if isinstance(node, Op):
            return self.expand_operator
        return isinstance(node, GlobalVar) and self.expand_global_var


def expanded(node: Any, module: IRModule) -> Function:
    """`fn (params) { node(params) }`, annotated where the types are known; under relations each use decides them."""
    type_ = None if isinstance(node, Op) else node.checked_type
    if type_ is None or type_.type_constraints:
        params = [Var(f"a{i}") for i in range(len(relay_inputs(node) if type_ is None else type_.arg_types))]
        return Function(params, Call(node, params))
    if isinstance(node, Constructor):
        declared = module.type_definitions[node.belong_to].type_vars
        fresh = {v: TypeVar(v.name_hint, v.kind) for v in declared}
        params = [Var(f"a{i}", substitute_types(t, fresh)) for i, t in enumerate(node.inputs)]
        return Function(params, Call(node, params), None, tuple(fresh.values()))
    fresh = {v: TypeVar(v.name_hint, v.kind) for v in type_.type_params}
    params = [Var(f"a{i}", substitute_types(t, fresh)) for i, t in enumerate(type_.arg_types)]
    return Function(params, Call(node, params), substitute_types(type_.ret_type, fresh), tuple(fresh.values()))
