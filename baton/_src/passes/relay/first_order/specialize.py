"""Specialize: polymorphic functions become one copy for each choice of types they are called with.

    def @id[t](%x: t) -> t { %x }   def @main() { (@id(1), @id(True)) }
becomes
    def @id_1(%x: int32) -> int32 { %x }   def @id_2(%x: bool) -> bool { %x }   def @main() { (@id_1(1), @id_2(True)) }

The same for let-bound functions, which inference generalises whenever it can; the copies replace the let. Polymorphic
functions used as values are eta-expanded first, so that every use is a call. Only function values with type parameters
and without relations stay polymorphic; their types are decided at run time. Operators need known types, so a value
whose type has relations gets the types of its later calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.types import (
    Constructor,
    FuncType,
    RelayRefType,
    TupleType,
    TypeVar,
)
from baton._src.passes.relay.first_order.type_instances import instance_of, with_types
from baton._src.relay.check.infer_type import infer_expr, infer_type
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import substitute_types
from baton._src.relay.expressions import global_vars, parts, replace, rewrite, walk, with_parts
from baton._src.relay.nodes import Call, Function, Let, RefCreate, Tuple, Var
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

LONGEST = 20_000
"""Types longer than this as text are assumed to grow without end."""


@dataclass(frozen=True)
class Specialize(Pass):
    """See the module's docstring. `max_copies` bounds polymorphic recursion, which would not terminate."""

    opt_level: ClassVar[int] = 0
    max_copies: int = 1000

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        module = infer_type(module)
        if not any(_has_polymorphism(f) for f in module.functions.values()):
            return module
        expanded = {v: _values_expanded(f, module) for v, f in module.functions.items()}
        return _Specializer(infer_type(module.with_functions(expanded)), self.max_copies).module()


def is_polymorphic(type_: Any) -> bool:
    """Whether it is a function type with type parameters."""
    return isinstance(type_, FuncType) and bool(type_.type_params)


def _has_polymorphism(function: Any) -> bool:
    return isinstance(function, Function) and (
        is_polymorphic(function.checked_type_)
        or any(isinstance(n, Function) and is_polymorphic(n.checked_type_) for n in walk(function.body))
    )


def _values_expanded(function: Any, module: IRModule) -> Any:
    """Every use of a polymorphic name as a value becomes `fn (%a) { name(%a) }`, each use its own."""
    if not isinstance(function, Function):
        return function
    arity: dict[Any, int] = {}
    aliases: list[Let] = []
    for node in walk(function):
        if isinstance(node, Let) and isinstance(node.value, Function) and is_polymorphic(node.value.checked_type_):
            arity[node.var] = len(node.value.params)
        elif isinstance(node, Let) and isinstance(node.value, (Var, GlobalVar)):
            aliases.append(node)
        elif isinstance(node, GlobalVar) and is_polymorphic(getattr(module[node], "checked_type_", None)):
            arity[node] = len(module[node].params)
    for let in reversed(aliases):  # outer ones first
        if let.value in arity:  # its value becomes a function literal, polymorphic too
            arity[let.var] = arity[let.value]

    def expanded(part: Any, wanted: Any) -> Any:
        if part not in arity:
            return part
        scheme = module[part].checked_type_ if isinstance(part, GlobalVar) else part.checked_type_
        if is_polymorphic(wanted) and is_polymorphic(scheme) and not scheme.type_constraints:
            return _still_polymorphic(part, scheme)
        params = [Var(f"a{i}") for i in range(arity[part])]
        return Function(params, Call(part, params))

    def rule(old: Any, new: Any) -> Any:
        if isinstance(new, Call):
            return new.with_fields(args=_mapped(new.args, _argument_types(old, module), expanded))
        type_ = getattr(old, "checked_type_", None)
        if isinstance(new, Tuple):
            fields = type_.fields if isinstance(type_, TupleType) else ()
            return new.with_fields(fields=_mapped(new.fields, fields, expanded))
        if isinstance(old, Function):
            type_ = type_.ret_type if isinstance(type_, FuncType) else None
        elif isinstance(old, RefCreate):
            type_ = type_.value if isinstance(type_, RelayRefType) else None
        found = {
            p: expanded(p, old.var.checked_type_ if _is_bound(old, p) else type_) for p in parts(new) if p in arity
        }
        return with_parts(new, found) if found else None

    return rewrite(function, rule) if arity else function


def _is_bound(node: Any, part: Any) -> bool:
    return isinstance(node, Let) and part is node.value


def _still_polymorphic(name: Any, scheme: FuncType) -> Function:
    """`fn<T>(%a: T) -> R { name(%a) }`: a value that is called with several types."""
    own = {old: TypeVar(old.name_hint, old.kind) for old in scheme.type_params}
    params = [Var(f"a{i}", substitute_types(t, own)) for i, t in enumerate(scheme.arg_types)]
    result = substitute_types(scheme.ret_type, own)
    return Function(params, Call(name, params), result, tuple(own.values()))


def _argument_types(call: Call, module: IRModule) -> tuple[Any, ...]:
    """The parameter types that the callee declares, where known."""
    op = call.op
    if isinstance(op, Constructor):
        return op.inputs
    type_ = (
        getattr(module[op], "checked_type_", None) if isinstance(op, GlobalVar) else getattr(op, "checked_type_", None)
    )
    return type_.arg_types if isinstance(type_, FuncType) else ()


def _mapped(items: tuple[Any, ...], types: tuple[Any, ...], function: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    made = tuple(function(item, types[n] if n < len(types) else None) for n, item in enumerate(items))
    return items if all(a is b for a, b in zip(made, items)) else made


class _Specializer:
    """One module; `copies` has the copies made of each global, by the types they are for."""

    def __init__(self, module: IRModule, max_copies: int) -> None:
        self._module = module
        self._max_copies = max_copies
        self._copies: dict[tuple[str, str], GlobalVar] = {}
        self._names = {v.name_hint for v in module.functions}
        self._todo: list[tuple[GlobalVar, Function]] = []

    def module(self) -> IRModule:
        functions: dict[GlobalVar, Any] = {}
        for var, function in self._module.functions.items():
            if not isinstance(function, Function):
                functions[var] = function
            elif not is_polymorphic(function.checked_type_):
                functions[var] = self._specialized(function)
        while self._todo:
            var, function = self._todo.pop()
            functions[var] = self._specialized(infer_expr(function, self._module))
        return infer_type(self._module.with_functions(self._with_needed(functions)))

    def _with_needed(self, functions: dict[GlobalVar, Any]) -> dict[GlobalVar, Any]:
        """Keep polymorphic functions that are still used, and a polymorphic entry, which is reported later."""
        kept = {v.name_hint for v in functions}
        entry = [f for v, f in self._module.functions.items() if v.name_hint == "main" and "main" not in kept]
        work = [*functions.values(), *entry]
        kept.add("main")
        while work:
            top = work.pop()
            for name in global_vars(top) if isinstance(top, Function) else ():
                if name.name_hint not in kept:
                    kept.add(name.name_hint)
                    work.append(self._module[name])
        first = {v: functions.get(v, f) for v, f in self._module.functions.items() if v.name_hint in kept}
        return {**first, **functions}

    def _specialized(self, function: Function) -> Function:
        """A monomorphic function in which calls of polymorphic lets and globals are replaced by calls of copies."""
        while True:
            made = _Lets(function).function()
            if made is function:
                break
            function = infer_expr(made, self._module)

        def rule(old: Any, new: Any) -> Any:
            if isinstance(old, Call) and isinstance(old.op, GlobalVar):
                copy = self._copy(old)
                return None if copy is None else new.with_fields(op=copy, written_type_args=())
            return None

        specialized: Function = rewrite(function, rule)
        return specialized

    def _copy(self, call: Call) -> GlobalVar | None:
        callee = self._module[call.op]
        if not isinstance(callee, Function) or not is_polymorphic(callee.checked_type_):
            return None
        mapping = instance_of(callee.checked_type_, call)
        if mapping is None:
            return None
        key = (call.op.name_hint, _shown(callee.checked_type_, mapping))
        if key not in self._copies:
            if len(self._copies) >= self._max_copies or len(key[1]) > LONGEST:
                message = f"@{key[0]} is called with more and more types: {key[1][:200]}"
                raise fail("relay-specialize", message, span=call.span, help="give its parameters fixed types")
            self._copies[key] = self._named(call.op.name_hint)
            self._todo.append((self._copies[key], with_types(callee, mapping)))
        return self._copies[key]

    def _named(self, hint: str) -> GlobalVar:
        count = 1
        while f"{hint}_{count}" in self._names:
            count += 1
        self._names.add(f"{hint}_{count}")
        return GlobalVar(f"{hint}_{count}")


class _Lets:
    """The polymorphic lets of one function, one round: calls whose types are known get copies."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._lets = {
            n.var: n
            for n in walk(function.body)
            if isinstance(n, Let) and isinstance(n.value, Function) and is_polymorphic(n.value.checked_type_)
        }
        self._copies: dict[Var, dict[str, tuple[Var, Any]]] = {v: {} for v in self._lets}
        self._calls: dict[Call, Var] = {}

    def function(self) -> Function:
        """The function after one round; the same object if there was nothing to do."""
        if not self._lets:
            return self._function
        for node in walk(self._function.body):
            if isinstance(node, Call) and node.op in self._lets:
                self._note(node)
        made: Function = rewrite(self._function, self._rule)
        return made

    def _note(self, call: Call) -> None:
        scheme = self._lets[call.op].value.checked_type_
        mapping = instance_of(scheme, call)
        if mapping is not None:
            copies = self._copies[call.op]
            made = copies.setdefault(_shown(scheme, mapping), (call.op.copy(), mapping))
            self._calls[call] = made[0]

    def _rule(self, old: Any, new: Any) -> Any:
        if old in self._calls:
            return new.with_fields(op=self._calls[old], written_type_args=())
        if not isinstance(old, Let) or old.var not in self._lets:
            return None
        used = any(n is old.var for n in walk(new.body))
        if used and not self._copies[old.var]:
            return None
        body = new if used else new.body
        for var, mapping in self._copies[old.var].values():
            copy = with_types(new.value.with_fields(body=new.value.body), mapping, old.value.checked_type_)
            body = Let(var, replace(copy, {old.var: var}), body, old.span)
        return body


def _shown(scheme: FuncType, mapping: dict[Any, Any]) -> str:
    types = [substitute_types(t, mapping) for t in (*scheme.arg_types, scheme.ret_type)]
    return ", ".join(show_type(t) for t in types)
