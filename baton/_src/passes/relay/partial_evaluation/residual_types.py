"""Type annotations of the residual program, from which the code that determined a call's type may be gone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, FuncType, Type, TypeCall, TypeVar
from baton._src.passes.relay.partial_evaluation.partial_values import Env
from baton._src.passes.relay.type_instances import type_arguments
from baton._src.relay.check.substitute import leaves, substitute_types
from baton._src.relay.nodes import Call, Function


class ResidualTypes:
    """The type parameters in scope at a point of the residual program of a function of `module`."""

    def __init__(self, module: IRModule) -> None:
        self._module = module
        self._type_scope: set[Any] = set()

    def enter(self, type_params: Iterable[Any]) -> set[Any]:
        """Bring type parameters into scope; returns the new ones, for `leave`."""
        added = set(type_params) - self._type_scope
        self._type_scope |= added
        return added

    def leave(self, added: set[Any]) -> None:
        """Leave the scope of a function."""
        self._type_scope -= added

    def written(self, type_: Type | None, env: Env) -> Any:
        """A type as an annotation of the residual program; None if it uses type parameters that are not in scope."""
        if type_ is None:
            return None
        found = substitute_types(type_, env.types) if env.types else type_
        known = all(not isinstance(v, TypeVar) or v in self._type_scope for v in leaves(found))
        return found if known else None

    def type_args(self, call: Call, env: Env) -> tuple[Any, ...]:
        """The type arguments of a residual call whose arguments do not determine them: what did (an annotation, the
        parameter of an unfolded function) may be gone, and `Nil` alone is a list of anything.
        """
        scheme = self._scheme(call.op)
        if scheme is None:
            return ()
        told = {v for t in scheme.arg_types for v in leaves(t)}
        if all(v in told for v in scheme.type_params):
            return ()
        mapping = type_arguments(scheme, call)
        found = [self.written(mapping.get(v), env) for v in scheme.type_params]
        return () if any(t is None for t in found) else tuple(found)

    def _scheme(self, callee: Any) -> FuncType | None:
        """The type of a callee if that has type parameters."""
        if isinstance(callee, Constructor):
            data = self._module.type_definitions[callee.belong_to]
            whole = TypeCall(callee.belong_to, data.type_vars)
            return FuncType(callee.inputs, whole, data.type_vars) if data.type_vars else None
        type_ = (self._module[callee] if isinstance(callee, GlobalVar) else callee).checked_type_
        return type_ if isinstance(type_, FuncType) and type_.type_params else None


def type_instance(function: Function, call: Call, caller: Env) -> dict[Any, Any]:
    """The values of the type parameters of an unfolded function."""
    scheme = function.checked_type_
    if not isinstance(scheme, FuncType) or not scheme.type_params:
        return {}
    found = type_arguments(scheme, call)
    return {v: substitute_types(found[v], caller.types) for v in scheme.type_params if v in found}
