"""Matches as chains of tag tests: clauses in order, the fields a clause binds taken out at the start of its branch.

    match (%l) { Cons(%h, _) => %h, Nil => 0 }
        if adt_has_tag(l, 0): { h = adt_field(l, 0); h }  else: { 0 }

The last clause of a match that covers every case needs no test. Where no clause fits, `match_failed` ends the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from baton._src.ir.types import TupleType, TypeCall
from baton._src.relax import nodes as rx
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay.check.substitute import substitute_types
from baton._src.relay.nodes import Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from baton._src.support.trampoline import Task
from baton._src.values.dtype import BOOL

if TYPE_CHECKING:
    from baton._src.lower.relay_to_relax.scope_lowering import Bindings, ScopeLowering

_BOOL = TensorStructInfo((), BOOL)


class MatchLowering:
    """Matches of one function being lowered."""

    def __init__(self, owner: ScopeLowering) -> None:
        self._owner = owner

    def lower(self, node: Match, bindings: Bindings) -> Task[Any]:
        """The leaf that holds the value of the match."""
        value = self._owner.values[node.data]
        return (yield self._clauses(node, value, 0, bindings))

    def _clauses(self, node: Match, value: Any, first: int, bindings: Bindings) -> Task[Any]:
        """Clauses from `first` on, as nested ifs."""
        if first == len(node.clauses):
            return self._failed(node, value, bindings)
        clause = node.clauses[first]
        last = first + 1 == len(node.clauses)
        return (yield self._test(node, clause.lhs, value, first, bindings, node.complete and last))

    def _test(
        self, node: Match, pattern: Pattern, value: Any, index: int, bindings: Bindings, certain: bool
    ) -> Task[Any]:
        """Try one clause: its tests one inside the other, so that a field is read only where its tag is known."""
        tests = [] if certain else constructors_in(pattern)
        owner = self._owner
        condition: Any = None
        places: dict[Any, Any] = {pattern: value}
        if tests:
            condition = self._condition(tests, places, bindings, node)
        if condition is None:
            self._bind(pattern, value, node.data.checked_type, bindings)
            return (yield owner.into(node.clauses[index].rhs, bindings))
        inner: Bindings = []
        self._bind(pattern, value, node.data.checked_type, inner)
        chosen = yield owner.body(node.clauses[index].rhs, inner)
        rest: Bindings = []
        found = yield self._clauses(node, value, index + 1, rest)
        other = rx.SeqExpr([rx.BindingBlock(rest)] if rest else [], found)
        return owner.emit(bindings, rx.If(condition, chosen, other), node, "gv")

    def _condition(
        self, tests: list[PatternConstructor], places: dict[Any, Any], bindings: Bindings, node: Match
    ) -> Any:
        """One value that says whether the pattern fits: `adt_fits(value, shape of the pattern)`."""
        (pattern, value), *_ = places.items()
        return self._owner.calls.builtin(bindings, "adt_fits", [value, rx.StringImm(shape_of(pattern))], _BOOL, node)

    def _bind(self, pattern: Pattern, value: Any, type_: Any, bindings: Bindings) -> None:
        """Take out what the pattern's variables name."""
        owner = self._owner
        work = [(pattern, value, type_)]
        while work:
            found, here, its_type = work.pop()
            match found:
                case PatternVar():
                    owner.values[found.var] = here
                case PatternConstructor():
                    types = self._field_types(found, its_type)
                    for position, inner in enumerate(found.patterns):
                        if _binds(inner):
                            info = owner.types.known(types[position])
                            args = [here, rx.PrimValue(position)]
                            field = owner.calls.builtin(bindings, "adt_field", args, info, found)
                            work.append((inner, field, types[position]))
                case PatternTuple():
                    fields = its_type.fields if isinstance(its_type, TupleType) else (None,) * len(found.patterns)
                    for position, inner in enumerate(found.patterns):
                        if _binds(inner):
                            field = owner.emit(bindings, rx.TupleGetItem(here, position), found)
                            work.append((inner, field, fields[position]))
                case _:
                    continue

    def _field_types(self, pattern: PatternConstructor, type_: Any) -> list[Any]:
        constructor = pattern.constructor
        variables = self._owner.type_vars(constructor)
        if not isinstance(type_, TypeCall):
            return list(constructor.inputs)
        mapping = dict(zip(variables, type_.args))
        return [substitute_types(t, mapping) for t in constructor.inputs]

    def _failed(self, node: Match, value: Any, bindings: Bindings) -> Any:
        info = self._owner.types.known(node.checked_type)
        span = f" at {node.span}" if node.span is not None else ""
        return self._owner.calls.builtin(bindings, "match_failed", [rx.StringImm(span.strip()), value], info, node)


def constructors_in(pattern: Pattern) -> list[PatternConstructor]:
    """The constructors a pattern tests, outermost first."""
    found: list[PatternConstructor] = []
    work: list[Any] = [pattern]
    while work:
        top = work.pop()
        if isinstance(top, PatternConstructor):
            found.append(top)
        work.extend(reversed(getattr(top, "patterns", ())))
    return found


def shape_of(pattern: Pattern) -> str:
    """A pattern as the builtin reads it: `_` anything, `2(_,1())` tag 2 with such fields, `t(_,_)` a tuple."""
    match pattern:
        case PatternConstructor():
            return f"{pattern.constructor.tag}({','.join(shape_of(p) for p in pattern.patterns)})"
        case PatternTuple():
            return f"t({','.join(shape_of(p) for p in pattern.patterns)})"
        case _:
            return "_"


def _binds(pattern: Pattern) -> bool:
    work: list[Any] = [pattern]
    while work:
        top = work.pop()
        if isinstance(top, PatternVar):
            return True
        work.extend(getattr(top, "patterns", ()))
    return False
