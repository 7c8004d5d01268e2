"""Types under a translation that changes some of them, and the ADTs that must change along.

A pass that gives values another representation (continuation-passing style, dual numbers, functions as data) says what
becomes of the types it changes; `TypeTwins` carries that through tuples, references, functions and ADTs. An ADT whose
fields change gets a twin: `type Shape { Dot(float32) }` becomes `type Shape_ad { Dot_ad((float32, ref(float32))) }`.
Of an ADT that only passes its type parameters on (`List`), the instances change and the definition stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.types import (
    Constructor,
    FuncType,
    GlobalTypeVar,
    RelayRefType,
    TupleType,
    TypeCall,
    TypeData,
    TypeVar,
)
from baton._src.relay.check.substitute import parts
from baton._src.relay.nodes import PatternConstructor, PatternTuple, PatternVar, Var


class TypeTwins:
    """One translation over one module.

    `is_changed` tells the types that the translation is about, `change` gives what becomes of one (it calls `type` for
    what is inside). Twins may take one more type parameter, `extra`, which the changed types mention.
    """

    def __init__(
        self,
        module: IRModule,
        suffix: str,
        is_changed: Callable[[Any], bool],
        change: Callable[[Any], Any],
        extra: TypeVar | None = None,
    ) -> None:
        self._module = module
        self._suffix = suffix
        self._is_changed = is_changed
        self._change = change
        self._extra = extra
        self._names = {v.name_hint for v in module.type_definitions}
        self._changing = self._those_that_change()
        self._twins: dict[GlobalTypeVar, GlobalTypeVar] = {}
        self._constructors: dict[Constructor, Constructor] = {}
        self.definitions: dict[GlobalTypeVar, TypeData] = {}
        """The twins made so far, to be added to the module."""

    def type(self, type_: Any) -> Any:
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
                args = tuple(self.type(a) for a in type_.args)
                if isinstance(type_.func, GlobalTypeVar) and type_.func in self._changing:
                    return TypeCall(self._twin(type_.func), (*args, *self._more()))
                return TypeCall(type_.func, args)
            case GlobalTypeVar() if type_ in self._changing:
                twin = self._twin(type_)
                return TypeCall(twin, self._more()) if self._extra is not None else twin
            case _:
                return type_

    def constructor(self, constructor: Constructor) -> Constructor:
        """The constructor of the twin; itself if its ADT stays."""
        if constructor.belong_to not in self._changing:
            return constructor
        self._twin(constructor.belong_to)
        return self._constructors[constructor]

    def pattern(self, pattern: Any, variable: Callable[[Var], Var] | None = None) -> Any:
        """The pattern over twins; its variables become what `variable` says. Nests only as deep as it was written."""
        match pattern:
            case PatternVar() if variable is not None:
                return pattern.with_fields(var=variable(pattern.var))
            case PatternConstructor():
                inner = tuple(self.pattern(p, variable) for p in pattern.patterns)
                return pattern.with_fields(constructor=self.constructor(pattern.constructor), patterns=inner)
            case PatternTuple():
                return pattern.with_fields(patterns=tuple(self.pattern(p, variable) for p in pattern.patterns))
            case _:
                return pattern

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
        """ADTs with a field that changes, by itself or because it holds such an ADT."""
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

    def _twin(self, name: GlobalTypeVar) -> GlobalTypeVar:
        if name not in self._twins:
            data = self._module.type_definitions[name]
            made = self._twins[name] = GlobalTypeVar(self._fresh(name.name_hint), name.kind)
            constructors = []
            for old in data.constructors:
                inputs = tuple(self.type(t) for t in old.inputs)
                twin = Constructor(old.name_hint + self._suffix, inputs, made, tag=old.tag)
                self._constructors[old] = twin
                constructors.append(twin)
            self.definitions[made] = TypeData(made, (*data.type_vars, *self._more()), constructors)
        return self._twins[name]

    def _fresh(self, hint: str) -> str:
        name, count = hint + self._suffix, 1
        while name in self._names:
            count += 1
            name = f"{hint}{self._suffix}{count}"
        self._names.add(name)
        return name


def _all_parts(type_: Any) -> Iterator[Any]:
    """`type_` and every type inside it."""
    work = [type_]
    while work:
        top = work.pop()
        yield top
        work.extend(parts(top))


__all__ = ["TypeTwins"]
