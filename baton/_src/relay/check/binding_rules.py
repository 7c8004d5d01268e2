"""What types variables get where they are bound: those that are written, and those of the parts a pattern takes apart.

    match (%x) { Cons(%head: Tensor[(2), float32], %rest) => ... }

Wildcards in what is written are holes that the solver fills.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.types import GlobalTypeVar, IncompleteType, TupleType, Type, TypeCall, TypeData
from baton._src.relay.check.dim_instances import without_variables
from baton._src.relay.check.kinds import kind_errors
from baton._src.relay.check.solver import Solver
from baton._src.relay.check.substitute import substitute_types
from baton._src.relay.nodes import Pattern, PatternConstructor, PatternTuple, PatternVar, Var
from baton._src.support.spans import Span


class BindingRules:
    """The rules over one solver. `types` has the variables bound, with their types."""

    def __init__(self, solver: Solver, definitions: Mapping[GlobalTypeVar, TypeData]) -> None:
        self.solver = solver
        self.definitions = definitions
        self.types: dict[Any, Any] = {}
        self._checked_kinds: set[Any] = set()

    def written(self, type_: Any, span: Span | None) -> Any:
        """An annotation: kind-checked once, its wildcards made holes of this inference."""
        if type_ is None:
            return self.solver.unifier.hole()
        if type_ not in self._checked_kinds:
            self._checked_kinds.add(type_)
            for message in kind_errors(type_, self.definitions):
                self.solver.report("relay-kind", message, type_.span or span)
        if isinstance(type_, IncompleteType):
            self.solver.unifier.levels.setdefault(type_, self.solver.unifier.level)
        return type_

    def bind_pattern(self, pattern: Pattern, type_: Type) -> None:
        """Give the variables of `pattern` their types, matching a value of `type_`."""
        work = [(pattern, type_)]
        while work:
            found, wanted = work.pop()
            match found:
                case PatternVar():
                    self.types[found.var] = self._pattern_var(found.var, wanted)
                case PatternConstructor():
                    work += self._constructor_pattern(found, wanted)
                case PatternTuple():
                    fields = [self.solver.unifier.hole() for _ in found.patterns]
                    self.solver.expect(wanted, TupleType(fields), "a tuple pattern", found.span)
                    work += zip(found.patterns, fields)
                case _:
                    continue

    def _pattern_var(self, var: Var, type_: Type) -> Any:
        if var.type_annotation is None:
            return type_
        return self.solver.expect(type_, self.written(var.type_annotation, var.span), f"%{var.name_hint}", var.span)

    def _constructor_pattern(self, pattern: PatternConstructor, type_: Type) -> list[tuple[Pattern, Any]]:
        constructor, solver = pattern.constructor, self.solver
        data = self.definitions.get(constructor.belong_to)
        if data is None:
            solver.report("relay-adt", f"the module does not define {constructor.belong_to.name_hint}", pattern.span)
            return [(p, solver.unifier.poisoned()) for p in pattern.patterns]
        holes = [solver.unifier.hole() for _ in data.type_vars]
        here = f"the pattern {constructor.name_hint}"
        solver.expect(type_, TypeCall(constructor.belong_to, tuple(holes)), here, pattern.span)
        if len(pattern.patterns) != len(constructor.inputs):
            message = f"{here} has {len(pattern.patterns)} fields, the constructor has {len(constructor.inputs)}"
            solver.report("relay-arity", message, pattern.span)
            return [(p, solver.unifier.poisoned()) for p in pattern.patterns]
        mapping = dict(zip(data.type_vars, holes))
        fields = [substitute_types(without_variables(t), mapping) for t in constructor.inputs]
        return list(zip(pattern.patterns, fields))
