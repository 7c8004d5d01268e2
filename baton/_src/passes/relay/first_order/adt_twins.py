"""Translate types, and the ADTs that contain them, for passes that change the representation of values.

A pass that gives values another representation (continuation-passing style, dual numbers, functions as data) defines
how the types it changes are translated; `TypeTwins` extends that to tuples, references, functions and ADTs. An ADT
whose fields change gets a twin: `type Shape { Dot(float32) }` becomes `type Shape_ad { Dot_ad((float32, ref(float32)))
}`. For an ADT that only passes on its type parameters (`List`), the instances change and the definition stays.

A translation that must know every type completely (functions as data) uses one twin per instance: of `type Lazy[T] {
Later(fn() -> T) }`, `Lazy[float32]` becomes `Lazy_data`, `Lazy[int32]` another one, both without parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.types import (
    Constructor,
    FuncType,
    GlobalTypeVar,
    RelayRefType,
    TupleType,
    Type,
    TypeCall,
    TypeData,
    TypeVar,
)
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import parts, substitute_types
from baton._src.relay.nodes import Call, Let, PatternConstructor, PatternTuple, PatternVar, Var
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task

DEEPEST, LONGEST = 50, 20_000
"""Limits on the nesting of instances that need further instances, and on the length of their types as text: beyond them
the instances are assumed infinite.
"""


class TypeTwins:
    """One translation over one module.

    `is_changed` says which types the translation changes, `change` translates one (it calls `type` for nested types).
    Twins may have one more type parameter, `extra`, which the changed types use. With `instances` a twin is made for
    each instance of a polymorphic ADT; its types must be known completely.
    """

    def __init__(
        self,
        module: IRModule,
        suffix: str,
        is_changed: Callable[[Any], bool],
        change: Callable[[Any], Any],
        extra: TypeVar | None = None,
        instances: bool = False,
    ) -> None:
        self._module = module
        self._suffix = suffix
        self._is_changed = is_changed
        self._change = change
        self._extra = extra
        self._names = {v.name_hint for v in module.type_definitions}
        self._changing = self._those_that_change()
        self._instances = instances
        self._making = 0
        self._twins: dict[tuple[GlobalTypeVar, str], GlobalTypeVar] = {}
        self._constructors: dict[tuple[GlobalTypeVar, int], Constructor] = {}
        self.definitions: dict[GlobalTypeVar, TypeData] = {}
        """The twins made so far, which must be added to the module."""

    def type(self, type_: Type | None) -> Any:
        """The translation of a type (None of None)."""
        if type_ is None:
            return None
        if self._is_changed(type_):
            return self._change(type_)
        match type_:
            case TupleType():
                return TupleType([self.type(f) for f in type_.fields])
            case RelayRefType():
                return RelayRefType(self.type(type_.value))
            case FuncType():
                args = tuple(self.type(a) for a in type_.arg_types)
                return FuncType(args, self.type(type_.ret_type), type_.type_params, type_.type_constraints)
            case TypeCall():
                if self._instances and isinstance(type_.func, GlobalTypeVar) and type_.func in self._changing:
                    return TypeCall(self._twin(type_.func, type_.args), ())
                args = tuple(self.type(a) for a in type_.args)
                if isinstance(type_.func, GlobalTypeVar) and type_.func in self._changing:
                    return TypeCall(self._twin(type_.func), (*args, *self._more()))
                return TypeCall(type_.func, args)
            case GlobalTypeVar() if type_ in self._changing:
                twin = self._twin(type_)
                return TypeCall(twin, self._more()) if self._extra is not None else twin
            case _:
                return type_

    def constructor(self, constructor: Constructor, made: Any = None) -> Constructor:
        """The constructor of the twin, or the constructor itself if its ADT does not change. `made` (for `instances`)
        is the type of its value.
        """
        if constructor.belong_to not in self._changing:
            return constructor
        args = made.args if self._instances and isinstance(made, TypeCall) else ()
        return self._constructors[self._twin(constructor.belong_to, args), constructor.tag]

    def type_args(self, call: Call) -> tuple[Any, ...]:
        """The type arguments of a call, translated."""
        if self._instances and isinstance(call.op, Constructor) and call.op.belong_to in self._changing:
            return ()
        return tuple(self.type(t) for t in call.written_type_args)

    def pattern(self, pattern: Any, variable: Callable[[Var], Var] | None = None, data: Any = None) -> Any:
        """The pattern over twins, with its variables replaced by `variable(v)`. Recursion is only as deep as the source
        pattern.

        `data` is the type of what is matched, for `instances`.
        """
        match pattern:
            case PatternVar() if variable is not None:
                return pattern.with_fields(var=variable(pattern.var))
            case PatternConstructor():
                old = pattern.constructor
                inner = self._patterns(pattern.patterns, variable, self._fields(old, data))
                return pattern.with_fields(constructor=self.constructor(old, data), patterns=inner)
            case PatternTuple():
                fields = data.fields if isinstance(data, TupleType) else ()
                return pattern.with_fields(patterns=self._patterns(pattern.patterns, variable, fields))
            case _:
                return pattern

    def _patterns(self, patterns: Any, variable: Callable[[Var], Var] | None, types: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.pattern(p, variable, t) for p, t in zip_longest(patterns, types))

    def _fields(self, constructor: Constructor, data: Any) -> tuple[Any, ...]:
        """The types of a constructor's fields in a value of type `data`."""
        if not isinstance(data, TypeCall):
            return ()
        mapping = dict(zip(self._module.type_definitions[constructor.belong_to].type_vars, data.args))
        return tuple(substitute_types(t, mapping) for t in constructor.inputs)

    def with_definitions(self, module: IRModule) -> IRModule:
        """`module` with the twins made so far."""
        if not self.definitions:
            return module
        return IRModule(
            module.functions, {**module.type_definitions, **self.definitions}, module.attrs, module.global_infos
        )

    def _more(self) -> tuple[Any, ...]:
        return () if self._extra is None else (self._extra,)

    def _those_that_change(self) -> set[GlobalTypeVar]:
        """ADTs with a field that changes, directly or because it holds such an ADT."""
        mentions: dict[GlobalTypeVar, set[GlobalTypeVar]] = {}
        found: set[GlobalTypeVar] = set()
        for name, data in self._module.type_definitions.items():
            inside = [t for c in data.constructors for field in c.inputs for t in _all_parts(field)]
            mentions[name] = {t for t in inside if isinstance(t, GlobalTypeVar)}
            if any(self._is_changed(t) for t in inside):
                found.add(name)
        grows = True
        while grows:
            more = {name for name, others in mentions.items() if name not in found and others & found}
            grows = bool(more)
            found |= more
        return found

    def _twin(self, name: GlobalTypeVar, args: tuple[Any, ...] = ()) -> GlobalTypeVar:
        """The twin of an ADT; with `args`, of that instance. It has type variables of its own: those of the module's
        functions are replaced where a function is copied, and a constructor is one object."""
        key = name, ", ".join(map(show_type, args))
        if key in self._twins:
            return self._twins[key]
        if self._making > DEEPEST or len(key[1]) > LONGEST:
            help = "give it (or what holds it) fixed types"
            raise fail("relay-data-type", f"{name.name_hint} is instantiated at ever more types", help=help)
        data = self._module.type_definitions[name]
        hint = self._fresh(name.name_hint)
        made = self._twins[key] = GlobalTypeVar(hint, name.kind)
        number = hint.removeprefix(name.name_hint)  # of constructors, too: names are unique in a module
        own = {v: TypeVar(v.name_hint, v.kind) for v in (*data.type_vars[len(args) :], *self._more())}
        given = dict(zip(data.type_vars, args))
        self._making += 1
        constructors = []
        for old in data.constructors:
            inputs = tuple(substitute_types(self.type(substitute_types(t, given)), own) for t in old.inputs)
            twin = Constructor(old.name_hint + number, inputs, made)
            self._constructors[made, old.tag] = twin
            constructors.append(twin)
        self._making -= 1
        self.definitions[made] = TypeData(made, tuple(own.values()), constructors)
        return made

    def _fresh(self, hint: str) -> str:
        name, count = hint + self._suffix, 1
        while name in self._names:
            count += 1
            name = f"{hint}{self._suffix}{count}"
        self._names.add(name)
        return name


def _all_parts(type_: Type) -> Iterator[Any]:
    """`type_` and every type inside it."""
    work = [type_]
    while work:
        top = work.pop()
        yield top
        work.extend(parts(top))


__all__ = ["TypeTwins"]


class TwinBody:
    """Rewrites a function over twins, with new variables of the translated types, and its lets."""

    def __init__(self, twins: TypeTwins) -> None:
        self._twins = twins
        self._vars: dict[Var, Var] = {}

    def _var(self, var: Var) -> Var:
        if var not in self._vars:
            self._vars[var] = Var(var.name_hint, self._twins.type(var.declared_type), span=var.span)
        return self._vars[var]

    def _chain(self, expr: Any) -> Task[Any]:
        lets: list[tuple[Var, Any]] = []
        while isinstance(expr, Let):
            lets.append((self._var(expr.var), (yield self._value(expr.value, expr.var))))
            expr = expr.body
        made = yield self._value(expr, None)
        for var, value in reversed(lets):
            made = Let(var, value, made)
        return made

    def _value(self, expr: GraphExpr, name: Var | None) -> Task[Any]:
        """The translation of `expr`, which a let binds to `name`."""
        raise NotImplementedError
