"""Polymorphic functions and operators used as values become function literals: then all uses of their names are calls.

    let %p = (%f, 1); %p.0(2f)      becomes      let %p = (fn (%a0) { %f(%a0) }, 1); %p.0(2f)

What the literal's types are, its later calls say. A value that is called with several types stays polymorphic if it
needs no types to run. Operators do: where its type has relations the value becomes a tuple with one literal for each
choice of types, and each call takes its own:

    (%p.0(2f), %p.0(%v))            becomes      let %p = ((fn (%a0: float32) {...}, fn (%a0: Tensor[(2), float32])
                                                 {...}), 1); (%p.0.0(2f), %p.0.1(%v))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor, FuncType, IncompleteType, RelayRefType, TupleType, Type, TypeVar
from baton._src.passes.relay.type_instances import inner_pairs, instance_of, is_polymorphic
from baton._src.relay.check.relations import relay_inputs
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import leaves, substitute_types
from baton._src.relay.expressions import parts, rewrite, walk, with_parts
from baton._src.relay.nodes import Call, Function, If, Let, Match, RefCreate, RefWrite, Tuple, TupleGetItem, Var


class _Instances:
    """The types that values of polymorphic types are called with.

    Types that meet in a program (in the branches of an if, say) are those of one value, though their relations differ.
    """

    def __init__(self) -> None:
        self._called: dict[str, dict[str, FuncType]] = {}
        self._same: dict[str, str] = {}

    def of(self, scheme: FuncType) -> list[FuncType]:
        """The types that values of type `scheme` are called with."""
        return list(self._called.get(self._class(_key(scheme)), {}).values())

    def note(self, scheme: FuncType, made: FuncType) -> None:
        """A value of type `scheme` is called with the types of `made`."""
        self._called.setdefault(self._class(_key(scheme)), {})[show_type(made)] = made

    def meet(self, one: Any, other: Any) -> None:
        """Values of both types are values of one type."""
        work = [(one, other)]
        while work:
            left, right = work.pop()
            if _is_general(left) and _is_general(right):
                first, second = self._class(_key(left)), self._class(_key(right))
                if first != second:
                    self._same[second] = first
                    self._called.setdefault(first, {}).update(self._called.pop(second, {}))
            elif left is not right:
                work += inner_pairs(left, right)

    def _class(self, key: str) -> str:
        while key in self._same:
            key = self._same[key]
        return key


def with_values_expanded(module: IRModule) -> IRModule:
    """The typed module with every use of a polymorphic name or operator as a value expanded; its types are to be
    inferred again.
    """
    functions = {v: f for v, f in module.functions.items() if isinstance(f, Function)}
    names = {v: _polymorphic_names(f, module) for v, f in functions.items()}
    if not any(names.values()):
        return module
    instances = _Instances()
    made = {v: _Values(module, names[v], instances) for v in functions}
    for var, function in functions.items():
        made[var].note(function)
    expanded = {v: made[v].expanded(f) for v, f in functions.items()}
    return module.with_functions({**module.functions, **expanded})


def _polymorphic_names(function: Function, module: IRModule) -> dict[Any, int]:
    """The names of polymorphic functions in `function`, and the operators that are values, each with the number of its
    parameters.
    """
    arity: dict[Any, int] = {}
    aliases: list[Let] = []
    for node in walk(function):
        values = node.args if isinstance(node, Call) else parts(node)
        arity |= {op: len(relay_inputs(op)) for op in values if isinstance(op, Op)}
        if isinstance(node, Let) and is_polymorphic(node.value):
            arity[node.var] = len(node.value.params)
        elif isinstance(node, Let) and isinstance(node.value, (Var, GlobalVar, Op)):
            aliases.append(node)
        elif isinstance(node, GlobalVar) and is_polymorphic(module[node]):
            arity[node] = len(module[node].params)
    for let in reversed(aliases):  # outer ones first
        if let.value in arity:  # its value becomes a function literal, polymorphic too
            arity[let.var] = arity[let.value]
    return arity


def _is_general(type_: Any) -> bool:
    return isinstance(type_, FuncType) and bool(type_.type_params)


def _key(scheme: FuncType) -> str:
    """The same text for types that differ in the names of their parameters only."""
    return show_type(scheme, {param: f"t{n}" for n, param in enumerate(scheme.type_params)})


class _Values:
    """Expands the values in one function."""

    def __init__(self, module: IRModule, names: dict[Any, int], instances: _Instances) -> None:
        self._module = module
        self._names = names
        self._instances = instances
        self._declared: set[Any] = set()

    def note(self, function: Function) -> None:
        """Add the types that `function` calls values with, and those that meet in it, to the instances."""
        for node in walk(function):
            match node:
                case Call():
                    made = self._called(node)
                    if made is not None:
                        self._instances.note(node.op.checked_type, made)
                    for arg, (_, here) in zip(node.args, self._parameter_types(node)):
                        self._instances.meet(here, arg.checked_type_)
                case If():
                    self._instances.meet(node.true_branch.checked_type_, node.false_branch.checked_type_)
                case Match():
                    for clause in node.clauses:
                        self._instances.meet(node.checked_type_, clause.rhs.checked_type_)
                case RefWrite():
                    self._instances.meet(node.ref.checked_type_, RelayRefType(node.value.checked_type_))
                case _:
                    pass

    def _called(self, call: Call) -> FuncType | None:
        """The known types of a call of a value whose type is polymorphic."""
        op = call.op
        known = isinstance(op, (Op, GlobalVar, Constructor)) or op in self._names
        scheme: Any = None if known else op.checked_type_
        mapping = instance_of(scheme, call) if _is_general(scheme) else None
        if mapping is None:
            return None
        args = tuple(substitute_types(t, mapping) for t in scheme.arg_types)
        return FuncType(args, substitute_types(scheme.ret_type, mapping))

    def expanded(self, function: Function) -> Function:
        self._declared = {p for n in walk(function) if isinstance(n, Function) for p in n.type_params}
        made: Function = rewrite(function, self._rule)
        return made

    def _rule(self, old: Any, new: Any) -> Any:
        type_ = getattr(old, "checked_type_", None)
        match old:
            case Call():
                args = _mapped(new.args, self._wanted_arguments(old), self._value)
                return new.with_fields(op=self._callee(old, new.op), args=args)
            case Tuple():
                fields = type_.fields if isinstance(type_, TupleType) else ()
                return new.with_fields(fields=_mapped(new.fields, fields, self._value))
            case Function():
                type_ = type_.ret_type if isinstance(type_, FuncType) else None
            case RefCreate():
                type_ = type_.value if isinstance(type_, RelayRefType) else None
            case _:
                pass
        found = {p: self._value(p, self._wanted(old, p, type_)) for p in parts(new) if p in self._names}
        return with_parts(new, found) if found else None

    def _wanted(self, old: Any, part: Any, type_: Type | None) -> Any:
        if not (isinstance(old, Let) and part is old.value):
            return type_
        return None if old.var in self._names else old.var.checked_type_

    def _value(self, part: Any, wanted: Any) -> Any:
        """`part` where a value of the type `wanted` is needed."""
        if part not in self._names:
            return part
        types = self._instances.of(wanted) if _is_general(wanted) and wanted.type_constraints else []
        if len(types) > 1:
            return Tuple([self._literal(part, type_.arg_types) for type_ in types])
        scheme: Any = None if isinstance(part, Op) else self._type_of(part)
        if _is_general(wanted) and _is_general(scheme) and not scheme.type_constraints:
            return _still_polymorphic(part, scheme, self._declared)
        return self._literal(part, (None,) * self._names[part])

    def _literal(self, name: Any, types: tuple[Any, ...]) -> Function:
        params = [Var(f"a{i}", type_) for i, type_ in enumerate(types)]
        return Function(params, Call(name, params))

    def _callee(self, old: Call, callee: Any) -> Any:
        made = self._called(old)
        if made is None or not old.op.checked_type.type_constraints:
            return callee
        types = [show_type(t) for t in self._instances.of(old.op.checked_type)]
        return TupleGetItem(callee, types.index(show_type(made))) if len(types) > 1 else callee

    def _wanted_arguments(self, call: Call) -> list[Any]:
        """The types wanted of the arguments: where a parameter takes values of any type, a function that is called with
        one choice of types only may have those, so its own general type is not needed.
        """
        types = self._parameter_types(call)
        return [t if _is_general(here) and len(self._instances.of(here)) == 1 else here for t, here in types]

    def _parameter_types(self, call: Call) -> list[tuple[Any, Any]]:
        """The types of the callee's parameters, where known: as declared, and at this call."""
        type_ = self._type_of(call.op)
        if not isinstance(type_, FuncType):
            return []
        chosen = dict(zip(type_.type_params, call.chosen_type_args))
        return [(t, substitute_types(t, chosen)) for t in type_.arg_types]

    def _type_of(self, name: Any) -> Any:
        return getattr(self._module[name] if isinstance(name, GlobalVar) else name, "checked_type_", None)


def _still_polymorphic(name: Any, scheme: FuncType, declared: set[Any]) -> Function:
    """`fn<T>(%a: T) -> R { name(%a) }`: a value that is called with several types. Type parameters of the functions
    around that are not written down cannot be written here either; they are left to infer.
    """
    own = {old: TypeVar(old.name_hint, old.kind) for old in scheme.type_params}
    outer = {v for v in leaves(scheme) if isinstance(v, TypeVar) and v not in own and v not in declared}
    known = {**own, **{v: IncompleteType(v.kind) for v in outer}}
    params = [Var(f"a{i}", substitute_types(t, known)) for i, t in enumerate(scheme.arg_types)]
    result = substitute_types(scheme.ret_type, known)
    return Function(params, Call(name, params), result, tuple(own.values()))


def _mapped(items: tuple[Any, ...], types: Sequence[Any], function: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    made = tuple(function(item, types[n] if n < len(types) else None) for n, item in enumerate(items))
    return items if all(a is b for a, b in zip(made, items)) else made
